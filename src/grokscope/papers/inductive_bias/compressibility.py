"""Compressibility against test accuracy, across everything that changes when a run groks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.correlation import Correlation, rank_correlation
from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Correlated, InEach
from ...figures import figures
from .checkpoints import SHARED_SEEDS, Memorised, memorised
from .common import AMONG_DISTRACTORS, EASY, PLACES, SEEDS, quick
from .figures.compressibility import ALL, compressibility_scatter

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ...store.results import Results

MODULATORS: dict[str, Arms] = {
    "nothing": {"nothing": {}},
    "LayerNorm": {f"LayerNorm, {name}": {"model.norm": norm} for name, norm in PLACES.items()},
    "read-out scale": {f"α = {scale:g}": {"model.readout_scale": scale} for scale in (0.3, 3.0, 10.0)},
    "learning rate": {f"lr {lr:g}": {"optim.lr": lr} for lr in (5e-4, 2e-3)},
    "weight decay": {f"wd {wd:g}": {"optim.weight_decay": wd} for wd in (0.5, 2.0)},
    "KL prior": {"β = 0.3": {"prior.beta": 0.3}},
    "distractors": {f"q = {q}": {"task.alphabet": q} for q in (1, 16)},
}
ARMS = {arm: settings for arms in MODULATORS.values() for arm, settings in arms.items()}


def points(results: Results) -> pd.DataFrame:
    """Every checkpoint that has memorised, with its modulator; an arm of no modulator is named by itself."""
    family = {arm: name for name, arms in MODULATORS.items() for arm in arms}
    table = memorised(results.probes["compressibility"])
    return table.assign(modulator=[family.get(arm, arm) for arm in table["arm"]])


def correlation(table: pd.DataFrame, column: str) -> Correlation:
    return rank_correlation(table[column], table["test_accuracy"], list(table["run"]))


def falls_with(column: str, arms: Arms | None = None) -> Memorised:
    """Test accuracy falls with a column of the probe over the memorised checkpoints, of all arms or of some."""
    names = None if arms is None else tuple(arms)
    return Memorised(Correlated(column, "test_accuracy", -1, arms=names, table="compressibility"), "compressibility")


@figures.register("ib-compressibility", takes="results", needs="compressibility", title="Compressibility")
def scatter(results: Results) -> Figure:
    """Test accuracy of every checkpoint that has memorised, against three measures of compressibility.
    Below, the rank correlation over all of them and over those of each modulator, with 95 % intervals (bootstrap over runs)."""
    table = points(results)
    labels = {
        "participation_ratio": "participation ratio of the hidden layer",
        "effective_rank": "effective rank of the hidden layer",
        "kept_train": "share of weights that keeps training accuracy",
    }
    groups = {ALL: table} | {str(name): own for name, own in table.groupby("modulator", sort=False)}
    found = {column: {name: correlation(own, column) for name, own in groups.items()} for column in labels}
    return compressibility_scatter(table, labels, found)


experiment(
    name="ib-compressibility",
    paper="inductive-bias",
    title="Compressibility and generalisation",
    question="Does test accuracy go with the compressibility of the features, whatever it is that changes the "
    "grokking time?",
    differs=AMONG_DISTRACTORS,
    base=EASY,
    arms=ARMS,
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=2,
    quick_arms={arm: {} for arm in ARMS} | {f"lr {lr:g}": {"optim.lr": 10 * lr} for lr in (5e-4, 2e-3)},
    claims=[
        Claim(
            name="features",
            statement="Generalisation emerges with feature compressibility, across different modulators of inductive "
            "bias.",
            rule=InEach(
                {"all": falls_with("participation_ratio")}
                | {name: falls_with("participation_ratio", arms) for name, arms in MODULATORS.items()}
            ),
            text="Over checkpoints with training accuracy of 99 % or more, of all arms and of each modulator's: the "
            "95 % interval (bootstrap over runs) of the rank correlation of test accuracy with the "
            "participation ratio of the hidden layer lies below 0; disagrees if above.",
            remark=SHARED_SEEDS,
        ),
        Claim(
            name="weights",
            of="ours",
            statement="Across all modulators, runs generalise as fewer of their weights come to matter.",
            rule=falls_with("kept_train"),
            text="The same for the smallest share of weights, largest first, that keeps the training accuracy within "
            "one point; all arms.",
            remark=SHARED_SEEDS,
        ),
    ],
    pictures={"times": "times", "scatter": "ib-compressibility"},
    probes=("compressibility",),
)
