"""What the grokking-tickets experiments share: the paper's set-up, a smaller one, the arms dense and ticket, the clock.

The paper's learning rate is 1e-3 (§3.1), with which its dense network generalises after some 20,000 epochs; its Table 1 and
Figures 22–23 fit 1e-2, which is ten times as fast. The quick size takes 1e-2 and fewer seeds: with fewer embedding dimensions
a ticket of the same rate no longer generalises.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...config import Log, RunConfig
from ...experiments.base import Arms
from ...experiments.clauses import Clock
from ...models.embedding_mlp import EmbeddingMLP
from ...optim.adamw import AdamW
from ...priors.kl import KL
from ...tasks.modular import Modular

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...figures import RunCurves

Draw = Callable[[Sequence["RunCurves"]], "Figure"]

PAPER = "grokking-tickets"

MLP = RunConfig(
    task=Modular(p=67, pairs="unordered", distractors=0, train_fraction=0.4),
    model=EmbeddingMLP(),
    optim=AdamW(lr=1e-3, weight_decay=1.0, beta2=0.98, warmup=0.0, clip=0.0),
    prior=KL(beta=0.0),
    epochs=30_000,
    precision="tf32",
    log=Log(every=100, keep=2000, dense=True),
)
"""§3.1."""

FAST: dict[str, Any] = {"optim.lr": 1e-2, "epochs": 4000, "log.every": 20, "log.keep": 200}
"""Ten times the learning rate, a tenth of the epochs."""
QUICK: dict[str, Any] = {**FAST, "epochs": 2500}
"""Small enough for two cores."""

DENSE: Arms = {"dense": {}}

GENERALISED = Clock("t_gen_95", "epoch")
"""The paper's t_gen: test accuracy at 95 %."""


def ticket(rate: float = 0.6, **settings: Any) -> dict[str, Any]:
    """The lottery ticket of the dense run with the same seed; `settings` of the ticket on top."""
    own = {"kind": "magnitude", "run": "@dense", "rate": rate, **settings}
    return {f"ticket.{name}": value for name, value in own.items()}


def last_only(arms: Arms) -> Arms:
    """The arms without checkpoints before the last: no probe reads them, and writing them takes time."""
    return {arm: {**settings, "log.keep": 0} for arm, settings in arms.items()}


def only(arms: Iterable[str], draw: Draw) -> Draw:
    """A picture of some of the arms."""
    chosen = set(arms)

    @functools.wraps(draw)
    def some(runs: Sequence[RunCurves]) -> Figure:
        return draw([run for run in runs if run.arm in chosen])

    return some


TICKET: Arms = {"grokking ticket": ticket()}
