"""Lazy or not: how far features have moved before a run generalises, and whether they ever rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.correlation import rank_correlation
from ...experiments.base import Arms, Claim, Ruling, experiment
from ...experiments.clauses import median_of
from ...experiments.rules import in_most_runs
from ...thresholds import reaches
from .common import EASY, quick
from .rules import correlated

if TYPE_CHECKING:
    import pandas as pd

    from ...store.results import Results

SCALES: Arms = {f"α = {scale:g}": {"model.readout_scale": scale} for scale in (0.3, 1.0, 3.0, 10.0)}
OTHERS: Arms = {"LayerNorm at both inputs": {"model.norm": "both"}, "constant distractors": {"task.alphabet": 1}}
ARMS: Arms = SCALES | OTHERS
LEFT = 0.9
"""Features with a lower CKA with their start have left it."""
MOVES = 0.99
"""Features with a lower CKA with the checkpoint before have moved."""


def with_movement(results: Results) -> pd.DataFrame:
    """The runs with what the probe found before test accuracy reached 50 %: `likeness`, the hidden layer's CKA with the
    start at the last such checkpoint, and `stillest`, the highest CKA of two checkpoints in a row, both after epoch 0."""
    table = results.probes["features"].sort_values(["run", "epoch"])
    waiting = table[~reaches(table["test_accuracy"], 0.5) & (table["epoch"] > 0)]
    likeness = waiting.groupby("run")["hidden_start"].last()
    later = waiting[waiting.groupby("run").cumcount() > 0]
    stillest = later.groupby("run")["hidden_previous"].max()
    runs = results.runs
    return runs.assign(likeness=runs["run"].map(likeness), stillest=runs["run"].map(stillest))


def _moved(results: Results) -> Ruling:
    return in_most_runs(
        list(ARMS),
        lambda runs: (runs["likeness"] < LEFT).where(runs["likeness"].notna()),
        median_of("likeness", "CKA with the start {}", "{:.2f}".format),
    )(with_movement(results))


def _always(results: Results) -> Ruling:
    return in_most_runs(
        list(ARMS),
        lambda runs: (runs["stillest"] < MOVES).where(runs["stillest"].notna()),
        median_of("stillest", "highest CKA of checkpoints in a row {}", "{:.3f}".format),
    )(with_movement(results))


def _lazier(results: Results) -> Ruling:
    runs = with_movement(results)
    own = runs[runs["arm"].isin(SCALES)]
    found = rank_correlation(own["model.readout_scale"], own["likeness"], list(own["run"]))
    lines = [
        f"{arm}: median CKA with the start {values.median():.2f}"
        for arm, values in own.groupby("arm", sort=False)["likeness"]
    ]
    return correlated(found, 1, [*lines, str(found)])


experiment(
    name="ib-features",
    paper="inductive-bias",
    title="Do features move?",
    question="Are features where they began until a run groks, or do they move throughout?",
    base=EASY,
    arms={arm: {**settings, "stop.accuracy": 0.0} for arm, settings in ARMS.items()},
    quick=quick(2000),
    claims=[
        Claim(
            name="not-lazy",
            statement="Features have left their start before a run generalises: memorisation is not lazy.",
            rule="Holds for an arm if in at least 80 % of its runs the CKA of the hidden layer with its start is below 0.9 at "
            "the last checkpoint with test accuracy below 50 %; runs without such a checkpoint do not count.",
            judge_all=_moved,
        ),
        Claim(
            name="throughout",
            statement="Features move all the time while a run waits.",
            rule="Holds for an arm if in at least 80 % of its runs the CKA of the hidden layer at any two checkpoints in a row "
            "(400 epochs apart) is below 0.99 while test accuracy is below 50 %; runs without two such checkpoints do not "
            "count.",
            judge_all=_always,
        ),
        Claim(
            name="scale",
            statement="A larger read-out scale keeps features nearer to their start.",
            rule="Holds if over the runs with different scales the 95 % interval (bootstrap over runs) of the rank correlation "
            "of scale with that CKA lies above 0, does not hold if below.",
            judge_all=_lazier,
        ),
    ],
    pictures={"movement": "ib-movement"},
    probes=("features",),
)
