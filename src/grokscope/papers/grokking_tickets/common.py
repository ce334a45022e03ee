"""What the grokking-tickets experiments share: the paper's set-up, a smaller one, the arms dense and ticket, their claims.

The paper's learning rate is 1e-3 (§3.1), with which its dense network generalises after some 20,000 epochs; its Table 1 and
Figures 22–23 fit 1e-2, which is ten times as fast. The quick size takes 1e-2 and fewer seeds: with fewer embedding dimensions
a ticket of the same rate no longer generalises.

The paper's clock is the first crossing of 95 % (§3.1). It does not say whether each matrix is pruned or all weights together; the
authors' code prunes all together, and takes the ticket from the checkpoint after the last epoch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...config import Log, RunConfig
from ...experiments.base import Arms, Claim
from ...experiments.clocks import FIRST_95, TAU_95, Clock
from ...experiments.rules import Conditional, Reached, Rule, Sooner
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

TO_THE_END: dict[str, Any] = {"stop.accuracy": 0.0}
"""Trained to the last epoch, whatever the test accuracy."""
LAYER_WISE = (
    "the code of the authors prunes all weights together, after the last of 30,000 epochs; here each matrix loses its "
    "share, when 99 % test accuracy has held for 100 epochs"
)
SEEDS = 20
GIVEN = 24
"""Where only seeds are judged whose dense network generalised, about nine of ten: so that twenty of them are left."""
FORTY = "Forty seeds: the first twenty, which were judged before, are too few for a share near 80 %."


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


def given(rule: Rule, arm: str = "dense", clock: Clock = FIRST_95) -> Conditional:
    """On the seeds whose dense network generalised: a grokking ticket is taken from such a network."""
    return Conditional(rule, Reached(arm, clock))


PAIRED = (
    "Agrees if the paired permutation test finds it lower (p < 0.05), given that the dense network generalised; "
    "otherwise disagrees if it is higher, or lower by less than a tenth."
)


def sooner_claims(ticket: str = "grokking ticket", clock: Clock = FIRST_95, ratio: Clock = TAU_95) -> list[Claim]:
    """That a ticket generalises sooner, and that the ratio τ_grok falls."""
    return [
        Claim(
            name="sooner",
            statement="A grokking ticket generalises sooner than the dense network.",
            text=f"t_gen of the ticket against the dense network's. {PAIRED}",
            rule=given(Sooner(ticket, "dense", clock), clock=clock),
        ),
        Claim(
            name="ratio",
            statement="The ratio τ_grok = t_gen/t_mem falls too: it is not just faster learning.",
            text=f"τ_grok of the ticket against the dense network's. {PAIRED}",
            rule=given(Sooner(ticket, "dense", ratio), clock=clock),
        ),
    ]
