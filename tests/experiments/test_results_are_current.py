"""The committed results: of the experiments and rules as they are, and the pages say what they say.

Experiments whose runs are outstanding are listed in results/pending.txt; everything else is enforced.
"""

import json
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import ClassVar

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from grokscope.analysis.plateau_features import METRICS
from grokscope.cli.listing import column_meanings
from grokscope.config import RunConfig
from grokscope.experiments import all_experiments
from grokscope.experiments import ledger as ledger_module
from grokscope.experiments.check_pages import disagreements
from grokscope.experiments.collect import STORED
from grokscope.experiments.drawing import drawn_pictures, stored_metrics
from grokscope.experiments.frozen import COMMIT, EARLIER, LIST, RULES, frozen_at, git, is_ancestor, rule_hashes
from grokscope.experiments.ledger import fits, load_ledger, rulings
from grokscope.experiments.pending import missing, outstanding
from grokscope.forecast.data import POOL
from grokscope.settings import flatten
from grokscope.store.results import load_results
from tools.freeze_rules import every_hash

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
CURRENT = [name for name in all_experiments() if name not in outstanding(RESULTS, all_experiments())]
DEFAULTS = flatten(RunConfig().to_dict())
MOST_BYTES = 25_000_000
MOST_BYTES_OF_THE_GALLERY = 7_000_000


@pytest.fixture(scope="module")
def ledger():
    return load_ledger(RESULTS, "full")


def test_every_experiment_has_results_or_is_pending(ledger):
    assert missing(ledger, RESULTS) == []


def test_the_pages_say_what_the_results_say(ledger):
    assert disagreements(ledger, ledger.rows(), ROOT) == []


def test_other_processes_judge_alike(monkeypatch):
    few = load_ledger(RESULTS, "full", ["gt-fig3", "si-fig7", "race-controls"])
    monkeypatch.setattr(ledger_module, "MANY", 3)
    monkeypatch.setattr(ledger_module, "cores", lambda: 2)
    monkeypatch.setattr(ledger_module, "_judged", lambda *own: pytest.fail("judged in this process"))
    elsewhere = few.rows(RESULTS)
    monkeypatch.undo()
    assert elsewhere == few.rows() and len(elsewhere) > 3


def test_without_other_processes_all_is_judged_here(monkeypatch):
    def broken(processes):
        raise BrokenProcessPool

    few = load_ledger(RESULTS, "full", ["gt-fig3"])
    monkeypatch.setattr(ledger_module, "MANY", 1)
    monkeypatch.setattr(ledger_module, "cores", lambda: 2)
    monkeypatch.setattr(ledger_module, "helpers", broken)
    assert few.rows(RESULTS) == few.rows() != []


def test_the_list_of_rules_is_that_of_the_claims():
    """`python -m tools.freeze_rules` writes it; commit it before the runs."""
    assert json.loads((RESULTS / LIST).read_text(encoding="utf-8")) == every_hash()


@pytest.mark.parametrize("name", CURRENT)
def test_results_are_of_the_experiment_as_it_is(name):
    experiment = all_experiments()[name]
    results = load_results(RESULTS, name, "full")
    assert results is not None and fits(experiment, results), "stale; grokscope reproduce NAME --full renews it"
    assert results.about[RULES] == rule_hashes(experiment)
    if experiment.prepare is not None:
        experiment = experiment.prepare(experiment, RESULTS, "full")
    asked = {(arm, config.seed): config for arm, config in experiment.configs("full")}
    stored = results.runs.set_index(["arm", "seed"])
    assert set(stored.index) <= set(asked)
    assert set(results.curves["run"]) == set(results.runs["run"])
    for key, config in asked.items():
        settings = flatten(config.to_dict())
        for column in set(settings) - {"prior.teacher", "ticket.run", "precision"}:
            # one that is not stored has its default
            if key in stored.index and (column in stored or "." in column):
                found = stored.at[key, column] if column in stored else DEFAULTS.get(column)
                assert _same(found, settings[column]), (key, column)


def _same(stored, value):
    return str(stored) == str(value) or (pd.isna(stored) and value is None) or float(stored) == float(value)


@pytest.mark.parametrize("name", CURRENT)
def test_the_rules_are_older_than_their_results(name):
    """The commit that the runs were made at already lists the hashes that the results store."""
    about = load_results(RESULTS, name, "full").about
    if git("rev-parse", "HEAD") is None:
        pytest.skip("no git folder")
    for part in (about, *about.get(EARLIER, [])):
        commit = part.get(COMMIT, "")
        assert commit, "the results do not name the commit that they were run at"
        assert is_ancestor(commit), f"commit {commit} is not part of this history"
        frozen = frozen_at(commit)
        assert frozen is not None, f"commit {commit} lists no rules"
        assert {f"{name}/{claim}": own for claim, own in about[RULES].items()}.items() <= frozen.items()


def test_the_gallery_is_small():
    assert (ROOT / "docs" / "gallery.html").stat().st_size < MOST_BYTES_OF_THE_GALLERY


def test_the_results_are_small():
    assert sum(file.stat().st_size for file in RESULTS.glob("*/full/*.parquet")) < MOST_BYTES


class Watched(pd.DataFrame):
    """A table that notes which columns are read."""

    read: ClassVar[set[str]] = set()

    @property
    def _constructor(self):
        return Watched

    def __getitem__(self, key):
        names = [key] if isinstance(key, str | slice) else key
        Watched.read.update(name for name in names if isinstance(name, str))
        return super().__getitem__(key)

    def __contains__(self, key):
        Watched.read.add(key)
        return super().__contains__(key)


@pytest.mark.slow
@pytest.mark.parametrize("name", CURRENT)
def test_what_claims_and_pictures_read_is_stored(name):
    experiment, results = all_experiments()[name], load_results(RESULTS, name, "full")
    metrics = {column for table in column_meanings().values() for column in table}
    Watched.read = set()
    watched = results._replace(curves=Watched(results.curves))
    rulings(experiment, watched)
    for drawn in drawn_pictures(experiment, watched):
        plt.close(drawn.figure)
    read = Watched.read & metrics - {"run", "status"}
    assert read <= {*STORED, *stored_metrics(experiment)}
    assert set(results.curves) <= {"run", *STORED, *read, *(METRICS if name in POOL else ())}


def test_rules_are_shown_without_addresses_in_memory():
    """Else `claims --json` would differ from call to call."""
    name = "gt-fig4"
    shown = [row["rule_code"] for row in rulings(all_experiments()[name], load_results(RESULTS, name, "full"))]
    assert any("judge=<function late_tickets>" in code for code in shown)
