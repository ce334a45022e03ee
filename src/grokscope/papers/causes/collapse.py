"""Starvation measured from the largest gradient of a run on, not from a fixed epoch.

At epoch 100, from which `causes-starvation` measures, gradients still grow in most runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...experiments.base import Claim, experiment
from ...experiments.columns import column
from ...experiments.regimes import by_regime
from ...experiments.rules import ShareAtLeast, in_regimes
from .common import BASE, DIAL, DIFFERS, QUICK
from .figures.gradients import gradients
from .starvation import WATCHED

if TYPE_CHECKING:
    from ...store.results import Results


def fall_from_peak(results: Results, name: str) -> pd.Series:
    """A column of the probe at the last checkpoint of a run over its largest value."""
    table = results.probes["part-gradients"].sort_values("epoch")
    ends = table.groupby("run")[name].agg(["max", "last"])
    return ends["last"] / ends["max"]


@column("attention collapses")
def collapses(results: Results) -> pd.Series:
    """Whether the gradient of attention falls to a tenth of its largest value or less."""
    return _at_most(fall_from_peak(results, "attention"), 0.1)


@column("attention collapses relative to the MLP")
def collapses_relatively(results: Results) -> pd.Series:
    """Whether the gradient of attention has fallen to half or less of what the MLP's has, each from its largest value."""
    return _at_most(fall_from_peak(results, "attention") / fall_from_peak(results, "mlp"), 0.5)


def _at_most(values: pd.Series, limit: float) -> pd.Series:
    return (values <= limit).astype(float).where(values.notna())


experiment(
    name="causes-collapse",
    paper="causes",
    title="Starvation from the peak",
    question="How far does the gradient of attention fall from its largest value while a network memorises?",
    base=BASE,
    differs=DIFFERS
    + " The first twenty seeds are the runs of causes-starvation: their gradients were seen before these rules were written.",
    arms=by_regime(WATCHED, DIAL),
    seeds=40,
    parts=list(DIAL),
    quick=QUICK,
    quick_seeds=5,
    quick_arms={"q = 16, watched": {"epochs": 200, "log.keep": 25}},
    probes=["part-gradients"],
    claims=[
        Claim(
            name="collapses",
            statement="Memorisation explains the gradient of attention away.",
            text="For each kind of distractors: in at least 80 % of the runs the norm of the task gradient on the attention "
            "weights at epoch 1,000 is at most a tenth of the largest at epochs 100, 200 … 1,000 (exact binomial interval).",
            rule=in_regimes(ShareAtLeast("watched", 0.8, column="attention collapses"), DIAL),
        ),
        Claim(
            name="collapses-relatively",
            statement="It does so more than the gradient of the MLP.",
            text="For each kind of distractors: in at least 80 % of the runs the norm of the task gradient on attention, over its "
            "largest value, is at epoch 1,000 at most half of the same ratio of the MLP (exact binomial interval).",
            rule=in_regimes(ShareAtLeast("watched", 0.8, column="attention collapses relative to the MLP"), DIAL),
            of="ours",
        ),
    ],
    pictures={"gradients": gradients},
)
