"""Starvation of attention: relative to the MLP's gradient, and what amplifying it does.

Amplifying the attention's update adds no information: if attention waits because its gradient is explained away, the wait must
shrink. Adam cancels a constant factor on the gradient itself, so that arm is a control.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...experiments.base import Arms, Claim, experiment
from ...experiments.columns import column
from ...experiments.rules import Alike, InEach, ShareAtLeast, Sooner, in_regimes
from .common import AFTER_99, BASE, COLLECTED, DIAL, DIFFERS, QUICK, branches, on_dial, quick_arms
from .figures.gradients import gradients

if TYPE_CHECKING:
    from ...store.results import Results

WATCHED: Arms = {"watched": {"epochs": 1000, "stop.accuracy": 0.0, "log.keep": 100}}
"""The first 1,000 epochs of the parent, with a checkpoint before memorisation."""
FACTORS = (3.0, 10.0, 30.0)
AMPLIFIED: Arms = {f"attention × {factor:g}": {"do.kind": "gradient", "do.strength": factor} for factor in FACTORS}
MATCHED = "attention as large as the MLP"
OTHERS: Arms = {
    "MLP × 10": {"do.kind": "gradient", "do.strength": 10.0, "do.parts": ["mlp"]},
    "attention gradient × 10": {"do.kind": "gradient", "do.strength": 10.0, "do.of": "gradient"},
    MATCHED: {"do.kind": "gradient", "do.strength": 1.0, "do.relative_to": "mlp"},
}
ARMS: Arms = WATCHED | branches(AMPLIFIED | OTHERS)


def fall(results: Results, name: str) -> pd.Series:
    """A column of the probe at the last checkpoint of a run over that at the first."""
    table = results.probes["part-gradients"].sort_values("epoch")
    ends = table.groupby("run")[name].agg(["first", "last"])
    several = table.groupby("run")["epoch"].nunique() > 1
    return (ends["last"] / ends["first"])[several]


@column("attention starves")
def starves(results: Results) -> pd.Series:
    """Whether the gradient of attention falls to a tenth or less."""
    return _at_most(fall(results, "attention"), 0.1)


@column("attention starves relative to the MLP")
def starves_relatively(results: Results) -> pd.Series:
    """Whether the gradient of attention falls to half or less of what it was, measured by the MLP's gradient."""
    return _at_most(fall(results, "attention") / fall(results, "mlp"), 0.5)


def _at_most(values: pd.Series, limit: float) -> pd.Series:
    return pd.Series(np.where(values.isna(), np.nan, values <= limit), values.index, dtype=float)


experiment(
    name="causes-starvation",
    paper="causes",
    title="Starvation",
    question="Does attention wait because its gradient is explained away?",
    base=BASE,
    differs=DIFFERS
    + " Gradients still grow at epoch 100, from which the first two rules measure their fall: what they do in "
    "between is in the picture.",
    arms=on_dial(ARMS),
    seeds=20,
    parts=list(DIAL),
    quick=QUICK,
    quick_arms=quick_arms(ARMS, {"watched": {"epochs": 200, "log.keep": 25}}),
    collected=COLLECTED,
    probes=["part-gradients"],
    claims=[
        Claim(
            name="starves",
            statement="Memorisation explains the gradient of attention away.",
            text="For each kind of distractors: in at least 80 % of the runs the norm of the task gradient on the attention "
            "weights at epoch 1,000 is at most a tenth of that at epoch 100 (exact binomial interval).",
            rule=in_regimes(ShareAtLeast("watched", 0.8, column="attention starves"), DIAL),
        ),
        Claim(
            name="starves-relatively",
            statement="It does so more than the gradient of the MLP.",
            text="For each kind of distractors: in at least 80 % of the runs the ratio of the norms of the task gradients on "
            "attention and on the MLP falls to half or less between epochs 100 and 1,000 (exact binomial interval).",
            rule=in_regimes(ShareAtLeast("watched", 0.8, column="attention starves relative to the MLP"), DIAL),
            of="ours",
        ),
        Claim(
            name="amplified",
            statement="Amplifying the update of attention alone on the plateau shortens the wait.",
            text="For each kind of distractors and each factor: branches whose attention takes 3, 10 or 30 times as large steps, "
            "or steps as large as the MLP's, reach 99 % sooner after the branch than branches left as they were (paired "
            "permutation tests).",
            rule=in_regimes(InEach({arm: Sooner(arm, "as it was", AFTER_99) for arm in (*AMPLIFIED, MATCHED)}), DIAL),
            of="ours",
        ),
        Claim(
            name="not-just-faster",
            statement="That is not what any part would do: amplifying the MLP's update shortens it less.",
            text="For each kind of distractors: branches with ten times the attention's update reach 99 % sooner than branches "
            "with ten times the MLP's (paired permutation test).",
            rule=in_regimes(Sooner("attention × 10", "MLP × 10", AFTER_99), DIAL),
            of="ours",
        ),
        Claim(
            name="adam-cancels",
            statement="A factor on the gradient itself changes nothing under Adam.",
            text="For each kind of distractors: the interval of the ratio of times of branches with ten times the attention's "
            "gradient and of those left as they were lies within 1/1.25 to 1.25 (two one-sided tests).",
            rule=in_regimes(Alike(("as it was", "attention gradient × 10"), 1.25, AFTER_99), DIAL),
            of="ours",
        ),
    ],
    pictures={"gradients": gradients, "accuracy": "accuracy", "after": "causes-after"},
)
