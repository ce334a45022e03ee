"""Compressibility against test accuracy, across everything that changes when a run groks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...analysis.correlation import Correlation, rank_correlation
from ...experiments.base import Arms, Claim, Ruling, experiment
from ...experiments.clauses import finite
from ...experiments.rules import verdict_on
from ...figures import figures
from ...thresholds import reaches
from .common import EASY, PLACES, quick
from .figures.compressibility import compressibility_scatter
from .rules import SPEARMAN, correlated

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
MEMORISED = 0.99


def points(results: Results) -> pd.DataFrame:
    """Every checkpoint that has memorised, with its modulator."""
    table = results.probes["compressibility"]
    family = {arm: name for name, arms in MODULATORS.items() for arm in arms}
    return table[reaches(table["train_accuracy"], MEMORISED)].assign(modulator=lambda own: own["arm"].map(family))


def correlation(table: pd.DataFrame, column: str) -> Correlation:
    return rank_correlation(table[column], table["test_accuracy"], list(table["run"]))


def _overall(column: str) -> Callable[[Results], Ruling]:
    def judge(results: Results) -> Ruling:
        found = correlation(points(results), column)
        return correlated(found, -1, [str(found)])

    return judge


def _within(results: Results) -> Ruling:
    found = {
        name: correlation(own, "participation_ratio") for name, own in points(results).groupby("modulator", sort=False)
    }
    verdict, when = verdict_on({name: own.sign == -1 if own.sign else None for name, own in found.items()})
    lines = [f"{name}: {own}" for name, own in found.items()]
    stats = {name: finite(own.rho) for name, own in found.items()}
    return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=SPEARMAN, numbers=stats)


@figures.register("ib-compressibility", takes="results", needs="compressibility", title="Compressibility")
def scatter(results: Results) -> Figure:
    """Test accuracy of every checkpoint that has memorised, against three measures of compressibility, with rank correlations."""
    table = points(results)
    labels = {
        "participation_ratio": "participation ratio of the hidden layer",
        "effective_rank": "effective rank of the hidden layer",
        "kept_train": "share of weights that keeps training accuracy",
    }
    found = {column: str(correlation(table, column)).replace(", ", "\n") for column in labels}
    return compressibility_scatter(table, {column: (label, found[column]) for column, label in labels.items()})


experiment(
    name="ib-compressibility",
    paper="inductive-bias",
    title="Compressibility and generalisation",
    question="Does test accuracy go with the compressibility of the features, whatever it is that changes the grokking time?",
    base=EASY,
    arms=ARMS,
    quick=quick(1500),
    quick_seeds=2,
    quick_arms={arm: {} for arm in ARMS} | {f"lr {lr:g}": {"optim.lr": 10 * lr} for lr in (5e-4, 2e-3)},
    claims=[
        Claim(
            name="features",
            statement="Across all modulators, runs generalise as their hidden layer comes to use fewer directions.",
            rule="Over all checkpoints with training accuracy of 99 % or more: holds if the 95 % interval (bootstrap over "
            "runs) of the rank correlation of test accuracy with the participation ratio of the hidden layer lies below "
            "0, does not hold if above.",
            judge_all=_overall("participation_ratio"),
        ),
        Claim(
            name="weights",
            statement="Across all modulators, runs generalise as fewer of their weights come to matter.",
            rule="Holds if the same interval for the smallest share of weights, largest first, that keeps the training "
            "accuracy within one point lies below 0, does not hold if above.",
            judge_all=_overall("kept_train"),
        ),
        Claim(
            name="within",
            statement="Among the runs of each modulator alone, test accuracy goes with fewer directions of the hidden layer.",
            rule="Holds for a modulator if the 95 % interval of the rank correlation with the participation ratio over its "
            "checkpoints alone lies below 0, does not hold if above.",
            judge_all=_within,
        ),
    ],
    pictures={"times": "times", "scatter": "ib-compressibility"},
    probes=("compressibility",),
)
