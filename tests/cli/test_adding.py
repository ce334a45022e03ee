"""Several processes that add to the results of one experiment: nothing that one has stored is lost by another."""

import shutil
from dataclasses import replace

import pytest

from grokscope.cli import science
from grokscope.experiments import base
from grokscope.experiments.base import Claim, Experiment
from grokscope.experiments.rules import ShareAtMost
from grokscope.store.results import load_results, save_results

NAME = "toy-arms"


@pytest.fixture
def toy(tiny, monkeypatch):
    made = Experiment(
        name=NAME,
        paper="toys",
        title="Toy",
        question="Does it run?",
        base=replace(tiny, epochs=20),
        arms={"plain": {}, "told": {"prior.beta": 0.5}},
        quick_seeds=2,
        claims=[Claim(name="never", statement="Never.", rule=ShareAtMost("plain", 0.9), text="None does.")],
        pictures={},
    )
    monkeypatch.setitem(base._experiments, made.name, made)
    return made


@pytest.fixture
def reproduce(run, toy):
    def call(*words):
        return run("reproduce", NAME, *words, "--quiet", "--device", "cpu")

    return call


@pytest.fixture
def elsewhere(reproduce, tmp_path):
    """Stores the arm `told`, as another process does."""
    assert reproduce("--arms", "told", "--results", tmp_path / "other")[0] == 0
    found = load_results(tmp_path / "other", NAME, "quick")
    return lambda: save_results(tmp_path / "results", found)


def arms(folder):
    return sorted(load_results(folder / "results", NAME, "quick").runs["arm"])


def before(monkeypatch, name, act):
    """Do something once before a function of the command is called."""
    called, left = getattr(science, name), [act]

    def instead(*given):
        while left:
            left.pop()()
        return called(*given)

    monkeypatch.setattr(science, name, instead)


def test_arms_that_another_process_stores_during_training_are_kept(reproduce, elsewhere, tmp_path, monkeypatch):
    before(monkeypatch, "collect_new", elsewhere)
    assert reproduce("--arms", "plain", "--add")[0] == 0
    assert arms(tmp_path) == ["plain", "plain", "told", "told"]


def test_arms_that_another_process_stores_at_the_last_moment_are_kept(reproduce, elsewhere, tmp_path, monkeypatch):
    before(monkeypatch, "completed", elsewhere)
    code, _, err = reproduce("--arms", "plain", "--add")
    assert code == 0 and f"{NAME}: another process has stored results at the same time; trying again\n" in err
    assert arms(tmp_path) == ["plain", "plain", "told", "told"]


def test_without_add_they_are_neither_replaced_nor_joined(reproduce, elsewhere, tmp_path, monkeypatch):
    before(monkeypatch, "collect_new", elsewhere)
    code, _, err = reproduce("--arms", "plain")
    assert code != 0 and "give --add to keep them" in err and len(err.splitlines()) == 1
    assert arms(tmp_path) == ["told", "told"]
    code, out, _ = reproduce("--arms", "plain", "--add")
    assert code == 0 and "\n0 optimizer steps taken" in out and len(arms(tmp_path)) == 4


def test_stored_results_that_vanish_are_missed(reproduce, elsewhere, tmp_path, monkeypatch):
    elsewhere()
    before(monkeypatch, "collect_new", lambda: shutil.rmtree(tmp_path / "results" / NAME))
    code, _, err = reproduce("--add")
    assert code != 0 and "they are gone" in err and len(err.splitlines()) == 1
    code, out, _ = reproduce("--add")
    assert code == 0 and "\n0 optimizer steps taken" in out and len(arms(tmp_path)) == 4


def test_the_totals_name_what_they_leave_out(reproduce, monkeypatch):
    """Searches are trained for the numbers of their experiment, and their steps are in no total."""
    assert "not counted" not in reproduce()[1]
    monkeypatch.setattr(Experiment, "trains_on", property(lambda self: True))
    out = reproduce()[1]
    assert out.endswith(f"{NAME}: further runs, trained when its results are collected, are not counted.\n")
