"""What the structural-inference experiments share: the paper's default, the three regimes of distractors, the quick sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..config import RunConfig
from ..priors.kl import KL
from ..tasks.modular import Modular
from .base import REFERENCES, Arms, Settings

if TYPE_CHECKING:
    import pandas as pd

PAPER = RunConfig(task=Modular(alphabet=16), prior=KL(beta=0.0), precision="tf32", epochs=15_000)
"""Table G.2, with sixteen distractor symbols (the paper does not say what its distractors are, see si-dial) and half as many
epochs again. All experiments start from it, so that equal runs are trained once."""

REGIMES: Arms = {
    "constant distractors": {"task.alphabet": 1},
    "q = 16": {"task.alphabet": 16},
    "operand vocabulary": {"task.alphabet": "operands"},
}
"""From "attention is no bottleneck" to "attention is the whole bottleneck"."""

PRIOR: Arms = {"no prior": {"prior.beta": 0.0}, "oracle": {"prior.beta": 0.3}}

QUICK = {
    "task.p": 37,
    "task.train_fraction": 0.7,
    "model.d": 48,
    "model.d_mlp": 192,
    "optim.lr": 0.01,
    "epochs": 2000,
}
"""Small enough for two cores; the same code."""


def by_regime(arms: Mapping[str, Settings]) -> Arms:
    """The arms in each regime, named `q = 16, oracle`; an arm that refers to another means the one of its own regime."""
    fields = [".".join(reference) for reference in REFERENCES]
    made: Arms = {}
    for regime, where in REGIMES.items():
        for arm, settings in arms.items():
            named = {f: f"@{regime}, {settings[f][1:]}" for f in fields if str(settings.get(f, "")).startswith("@")}
            made[f"{regime}, {arm}"] = {**where, **settings, **named}
    return made


def in_regime(runs: pd.DataFrame, regime: str) -> pd.DataFrame:
    """The runs of one regime, their arms named without it."""
    own = runs[runs["arm"].str.startswith(f"{regime}, ")]
    return own.assign(arm=own["arm"].str.removeprefix(f"{regime}, "))


def quick_regime(arms: Iterable[str], more: Mapping[str, Settings] | None = None) -> dict[str, Settings]:
    """The quick size keeps these arms at q = 16, with settings on top where `more` has some."""
    return {f"q = 16, {arm}": (more or {}).get(arm, {}) for arm in arms}
