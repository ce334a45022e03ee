"""The runs behind the pictures of docs/concepts: `python -m tools.concept_data` trains them (minutes) and stores what is drawn.

`run.csv` has the curves of one run of the demo's kind, evaluated often and trained on after it has grokked; `times.csv` has the
times of twelve seeds that are trained for too short a time for all of them to grok.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd

from grokscope import RunConfig, load_runs, train_all
from grokscope.analysis import run_times
from grokscope.config.watch import Log, Stop
from grokscope.demo import BASE

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "concepts"
COLUMNS = [
    "epoch",
    "train_accuracy",
    "test_accuracy",
    "train_loss",
    "D",
    "mass_mean",
    "grad_M",
    *(f"attention_{j}" for j in range(5)),
]
SEEDS, LAST = range(12), 900


def trained(configs: list[RunConfig]) -> pd.DataFrame:
    """The table of runs that are trained and thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        train_all(configs, runs=folder)
        return load_runs(folder)


def main() -> int:
    long = replace(BASE, epochs=2500, log=Log(every=5), stop=Stop(accuracy=0.0))
    trained([long])[COLUMNS].to_csv(FOLDER / "run.csv", index=False, float_format="%.5g")
    table = trained([replace(BASE, epochs=LAST, log=Log(every=5), seed=seed) for seed in SEEDS])
    rows = [{"seed": seed, **run_times(rows.sort_values("epoch")).to_dict()} for seed, rows in table.groupby("seed")]
    kept = pd.DataFrame(rows)[["seed", "t_mem", "t_grok", "last_epoch"]].astype("Int64")
    kept.to_csv(FOLDER / "times.csv", index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
