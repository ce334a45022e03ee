"""Results store the curves that the claims and pictures of an experiment read, and the settings that rules may ask for."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from grokscope.analysis.plateau_features import METRICS
from grokscope.cli.listing import column_meanings
from grokscope.experiments import all_experiments, find_experiment
from grokscope.experiments.collect import STORED, run_rows
from grokscope.experiments.drawing import drawn_pictures, stored_metrics
from grokscope.experiments.ledger import rulings
from grokscope.experiments.pending import outstanding
from grokscope.forecast.data import POOL
from grokscope.launch.local import train_all
from grokscope.store.results import load_results

RESULTS = Path(__file__).parents[2] / "results"
CURRENT = [name for name in all_experiments() if name not in outstanding(RESULTS, all_experiments())]


class Watched(pd.DataFrame):
    """A table that notes which columns are read."""

    read: ClassVar[set[str]] = set()

    @property
    def _constructor(self):
        return Watched

    def __getitem__(self, key):
        Watched.read.update(name for name in ([key] if isinstance(key, str) else key) if isinstance(name, str))
        return super().__getitem__(key)

    def __contains__(self, key):
        Watched.read.add(key)
        return super().__contains__(key)


@pytest.mark.slow
@pytest.mark.parametrize("name", CURRENT)
def test_what_claims_and_pictures_read_is_stored(name):
    experiment, results = find_experiment(name), load_results(RESULTS, name, "full")
    metrics = {column for table in column_meanings().values() for column in table}
    Watched.read = set()
    watched = results._replace(curves=Watched(results.curves))
    rulings(experiment, watched)
    for drawn in drawn_pictures(experiment, watched):
        plt.close(drawn.figure)
    read = Watched.read & metrics - {"run", "status"}
    assert read <= {*STORED, *stored_metrics(experiment)}
    assert set(results.curves) <= {"run", *STORED, *read, *(METRICS if name in POOL else ())}


def test_the_curves_of_an_experiment_are_known_metrics():
    known = {column for table in column_meanings().values() for column in table}
    for name, experiment in all_experiments().items():
        assert set(experiment.curves) <= known - set(STORED) or set(experiment.curves) == set(METRICS), name


def test_settings_that_differ_from_the_default_are_stored(tiny, tmp_path):
    """Also one that all runs share: the sum over four heads must not become that of one."""
    four = replace(tiny, model=replace(tiny.model, heads=4), epochs=2)
    runs = train_all([four, replace(four, seed=1)], runs=tmp_path)
    table, curves = run_rows(runs, ["four", "four"], curves=("entropy",))
    assert list(table["model.heads"]) == [4, 4]
    assert "optim.eps" not in table  # the default
    assert {"epoch", "test_accuracy", "D", "entropy", "run"} <= set(curves) and "grad_M" not in curves
    assert "grad_M" in run_rows(runs, ["four", "four"])[1]


def test_rules_are_shown_without_addresses_in_memory():
    """Else `claims --json` would differ from call to call."""
    name = "gt-fig4"
    shown = [row["rule_code"] for row in rulings(find_experiment(name), load_results(RESULTS, name, "full"))]
    assert any("judge=<function late_tickets>" in code for code in shown)
