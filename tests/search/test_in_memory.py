"""Candidates in memory: the race takes the same course as with stored runs, and continues after it was killed anywhere."""

import itertools
from dataclasses import replace

import pytest

from grokscope.config import Log, Stop
from grokscope.launch import local
from grokscope.launch.local import train_all, train_in_memory
from grokscope.priors.kl import KL
from grokscope.run import StoredRun
from grokscope.searching import SearchSettings, race
from grokscope.searching.api import search, search_together
from grokscope.searching.candidates import Standing
from grokscope.searching.kept import Kept
from grokscope.searching.picture import losses_of
from grokscope.searching.schedules.halving import Halving
from grokscope.searching.training import Trainer, quiet_rungs
from grokscope.store import list_runs, read_metrics
from grokscope.store.tournaments import load_tournament
from grokscope.tasks.modular import Modular

QUICK = SearchSettings(schedule=Halving(first=4, factor=2.0))


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def config(tiny):
    return replace(
        tiny,
        task=Modular(p=11, distractors=2, alphabet="operands", train_fraction=0.8, confirmation=0.1),
        prior=KL(),
        epochs=12,
        stop=Stop(accuracy=0.0),
        log=Log(every=2),
    )


@pytest.fixture(autouse=True)
def somebody_leads(monkeypatch):
    """15 candidates, of which 7, 3 and 1 survive; more than 3 stay in memory."""
    monkeypatch.setattr("grokscope.searching.schedules.base.leads", lambda rivals, chance: True)
    monkeypatch.setattr(race, "STORED", 3)


class Watched:
    """Trains here, counts what it trains, and may be killed before or within a call."""

    def __init__(self, runs, kill_before=0, kill_within=0, interrupt_within=0):
        self.runs, self.calls = runs, []
        self.kill_before, self.kill_within, self.interrupt_within = kill_before, kill_within, interrupt_within

    @property
    def trainer(self):
        return Trainer(self.stored, self.memory)

    def _begin(self, kind, some):
        self.calls.append((kind, len(some)))
        if len(self.calls) == self.kill_before:
            raise KilledError
        last = len(self.calls) in (self.kill_within, self.interrupt_within)
        return some[: len(some) // 2] if last else some

    def _end(self):
        if len(self.calls) == self.kill_within:
            raise KilledError

    def stored(self, configs, names):
        found = train_all(self._begin("stored", configs), runs=self.runs, device="cpu", notify=lambda line: None)
        self._end()
        return found

    def memory(self, runs, names):
        train_in_memory(self._begin("memory", runs), device="cpu", fit_only=True)
        self._end()


def raced(config, runs, **how):
    watched = Watched(runs, **how)
    return search(config, settings=QUICK, runs=runs, device="cpu", train=watched.trainer), watched.calls


def without_curves(found):
    plain = found.to_dict()
    return plain | {"tournament": [{k: v for k, v in one.items() if k != "curve"} for one in plain["tournament"]]}


def test_the_course_is_that_of_stored_runs(config, tmp_path):
    here, calls = raced(config, tmp_path / "here")
    assert calls == [("memory", 15), ("memory", 7), ("stored", 3), ("stored", 1)]
    watched = Watched(tmp_path / "stored")
    there = search(config, settings=QUICK, runs=tmp_path / "stored", device="cpu", train=watched.stored)
    assert without_curves(here) == without_curves(there)
    left, every = ({run.id: run for run in list_runs(tmp_path / name)} for name in ("here", "stored"))
    assert len(left) == 3 and len(every) == 15
    for id, run in left.items():
        assert (run.epoch, run.status, run.config) == (every[id].epoch, every[id].status, every[id].config)
        for name in ("train_loss", "test_accuracy", "prior_loss", "val_loss", "val_calibrated_loss"):
            assert read_metrics(run)[name] == read_metrics(every[id])[name]


def test_what_is_measured_of_attention_begins_where_a_run_is_stored(config, tmp_path):
    """Of candidates in memory loss and accuracy are measured: all that the race looks at."""
    found, _ = raced(config, tmp_path)
    winner = next(run for run in list_runs(tmp_path) if run.id == found.to_dict()["run"])
    rows = read_metrics(winner).to_pylist()
    assert [row["epoch"] for row in rows if row["D"] is None] == [0, 2, 4, 6]
    assert [row["epoch"] for row in rows if row["D"] is not None] == [8, 9, 10, 12], "9 is a rung"
    assert all(row["test_accuracy"] is not None for row in rows)


def test_the_picture_has_the_curves_of_all(config, tmp_path):
    here, _ = raced(config, tmp_path / "here")
    watched = Watched(tmp_path / "stored")
    there = search(config, settings=QUICK, runs=tmp_path / "stored", device="cpu", train=watched.stored)
    drawn, wanted = losses_of(here, tmp_path / "here"), losses_of(there, tmp_path / "stored")
    assert drawn.keys() == wanted.keys() and len(drawn) == 15
    for units, curve in drawn.items():
        assert curve.to_dict("list") == wanted[units][list(curve)].to_dict("list")


def test_the_same_call_trains_nothing_in_memory_again(config, tmp_path):
    first, _ = raced(config, tmp_path)
    again, calls = raced(config, tmp_path)
    assert again.to_dict() == first.to_dict()
    assert calls == [("stored", 3), ("stored", 1)], "which are finished"


FIRST, SECOND, LAST = ("memory", 15), ("memory", 7), [("stored", 3), ("stored", 1)]
CONTINUED = [
    ("kill_before", 1, [FIRST, SECOND, *LAST]),
    ("kill_before", 2, [SECOND, *LAST]),
    ("kill_before", 3, LAST),
    ("kill_before", 4, LAST),
    # half of the rung was measured
    ("kill_within", 1, [("memory", 8), SECOND, *LAST]),
    ("kill_within", 2, [("memory", 4), *LAST]),
    ("kill_within", 3, LAST),
    ("interrupt_within", 1, [("memory", 8), SECOND, *LAST]),
    ("interrupt_within", 2, [("memory", 4), *LAST]),
    ("interrupt_within", 3, LAST),
]


@pytest.mark.parametrize(("how", "call", "trained"), CONTINUED)
def test_a_killed_race_continues_to_the_same_result(config, tmp_path, monkeypatch, how, call, trained):
    monkeypatch.setattr(race, "SAVE_EVERY", 0.0)  # every candidate that reaches a rung is saved at once
    whole, _ = raced(config, tmp_path / "whole")
    if how == "interrupt_within":
        stopped, _ = raced(config, tmp_path / "killed", interrupt_within=call)
        assert stopped.status == load_tournament(tmp_path / "killed", stopped.id)["status"] == "stopped"
    else:
        with pytest.raises(KilledError):
            raced(config, tmp_path / "killed", **{how: call})
    continued, calls = raced(config, tmp_path / "killed")
    assert continued.to_dict() == whole.to_dict()
    assert calls == trained


def test_what_another_search_has_trained_past_a_rung_is_judged_there(config, tmp_path):
    """It was evaluated at epochs 4 and 6; the rungs of this search are 5 and 8, so that a candidate is trained to 5 anew."""
    other = replace(QUICK, schedule=Halving(first=5, factor=4.0, growth=1.6))
    raced(config, tmp_path / "both")
    beside, alone = (
        search(config, settings=other, runs=tmp_path / name, device="cpu").to_dict() for name in ("both", "alone")
    )
    assert alone["tournament"][0]["rungs"][0]["epoch"] == 5
    for one in (beside, alone):
        for entry in one["tournament"]:
            entry.pop("curve", None)
    assert beside == alone


def test_what_does_not_fit_is_trained_again(config, tmp_path, monkeypatch):
    whole, _ = raced(config, tmp_path / "whole")
    monkeypatch.setattr(race, "Kept", lambda: Kept(limit=0))
    again, _ = raced(config, tmp_path / "small")
    assert again.to_dict() == whole.to_dict()


class Run:
    """A run of ten bytes."""

    nbytes = 10

    def release(self):
        self.nbytes = 0


def test_the_worst_is_given_up_first():
    kept, runs = Kept(limit=25), [Run() for _ in range(5)]
    for number, loss in enumerate((3.0, 1.0, 2.0, 5.0)):
        kept.add(Standing((number,), loss, 0.0, 0.0), runs[number])
    assert sorted(kept.runs) == [(1,), (2,)]
    assert [run.nbytes for run in runs] == [0, 10, 10, 0, 10], "the training call still holds those that were given up"
    kept.add(Standing((2,), 4.0, 0.0, 0.0), runs[2])
    assert sorted(kept.runs) == [(1,), (2,)], "the same run at a later rung"
    kept.drop((1,))
    kept.add(Standing((4,), 9.0, 0.0, 0.0), runs[4])
    assert sorted(kept.runs) == [(2,), (4,)]


def test_searches_of_several_seeds_are_those_made_alone(config, tmp_path):
    configs = [replace(config, seed=seed) for seed in range(3)]
    alone = [raced(one, tmp_path / "alone")[0] for one in configs]
    found = search_together([(one, QUICK) for one in configs], runs=tmp_path / "together", device="cpu")
    assert [one.to_dict() for one in found] == [one.to_dict() for one in alone]


def test_fewer_lanes_at_a_later_rung_are_not_mentioned(config, tmp_path, monkeypatch, capsys):
    lanes = itertools.count(2)
    monkeypatch.setattr(local, "numerics", lambda device, count: {"lanes": next(lanes)})
    found = search(config, settings=QUICK, runs=tmp_path, device="cpu")
    assert found.status == "finished" and capsys.readouterr().err == ""
    run = StoredRun.find(tmp_path, found.summary["run"])
    assert run.info.manifest["continued"], "but stored"
    train_all([replace(run.config, epochs=14)], runs=tmp_path, device="cpu")
    assert "continued with lanes" in capsys.readouterr().err


def test_other_changes_between_rungs_are_mentioned(capsys):
    shown = (
        "run a: continued with gpu B instead of gpu A; …",
        "run a: continued with lanes 7 instead of 31, gpu B instead of A; …",
    )
    for line in (*shown, "6 runs (a, b, …): continued with lanes 7 instead of 31; the bits may differ"):
        quiet_rungs(line)
    assert capsys.readouterr().err.splitlines() == list(shown)
