"""Results that are collected in other processes while runs train are those that would be collected afterwards."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pandas as pd
import pytest

from grokscope import train_all
from grokscope.cli import collecting
from grokscope.cli.collecting import Collector, collected
from grokscope.experiments.base import find_experiment
from grokscope.store import read_run
from grokscope.store.results import load_results

NAME = "si-fig1"


@pytest.fixture
def asked(tiny):
    return [(arm, replace(tiny, seed=seed)) for arm, seed in (("one", 0), ("two", 1), ("two", 2))]


@pytest.fixture(autouse=True)
def cores(monkeypatch):
    monkeypatch.setattr(collecting, "cores", lambda: 4)
    monkeypatch.setattr(collecting, "LOOK", 0.01)


def train(asked, folder):
    train_all([config for _, config in asked], runs=folder / "runs", device="cpu")


def test_collected_beside_training(asked, tmp_path):
    collector = Collector("quick", tmp_path / "runs", tmp_path / "results")
    with collector.watching({NAME: asked}):
        train(asked, tmp_path)
        while not collector._begun:  # training is longer, except here
            collecting.threading.Event().wait(0.01)
    assert collector.has(NAME)
    found = load_results(tmp_path / "results", NAME, "quick")
    own = [(arm, read_run(tmp_path / "runs" / config.id)) for arm, config in asked]
    wanted = collected(find_experiment(NAME), "quick", [arm for arm, _ in asked], own)
    pd.testing.assert_frame_equal(found.runs, wanted.runs, check_dtype=False)
    assert list(found.runs["arm"]) == ["one", "two", "two"]
    assert list((tmp_path / "results" / NAME / "quick").glob("*.png"))


def test_runs_are_probed_as_they_finish(tiny, tmp_path, monkeypatch):
    asked = [("one", replace(tiny, seed=seed, log=replace(tiny.log, keep=20))) for seed in range(3)]
    begun, begin = [], Collector._probe

    def probe(self, name, config):
        begun.append(config.seed)
        begin(self, name, config)

    monkeypatch.setattr(Collector, "_probe", probe)
    collector = Collector("quick", tmp_path / "runs", tmp_path / "results")
    with collector.watching({"si-audit": asked}):
        train(asked[:2], tmp_path)
        while len(begun) < 2:  # before the last run is trained
            collecting.threading.Event().wait(0.01)
        assert not collector._begun
        train(asked[2:], tmp_path)
    assert collector.has("si-audit") and sorted(begun) == [0, 1, 2]
    found = load_results(tmp_path / "results", "si-audit", "quick").probes["si-audit"]
    own = [(arm, read_run(tmp_path / "runs" / config.id)) for arm, config in asked]
    wanted = collected(find_experiment("si-audit"), "quick", ["one"], own).probes["si-audit"]
    assert len(found) and found["seed"].drop_duplicates().tolist() == [0, 1, 2]
    pd.testing.assert_frame_equal(found.drop(columns="numbers"), wanted.drop(columns="numbers"))


def test_not_before_the_last_run_is_finished(asked, tmp_path):
    collector = Collector("quick", tmp_path / "runs", tmp_path / "results")
    longer = [(arm, replace(config, epochs=config.epochs + 5)) for arm, config in asked]
    with collector.watching({NAME: longer}):
        train(asked, tmp_path)  # stored with another last epoch than requested
    assert not collector.has(NAME)
    assert load_results(tmp_path / "results", NAME, "quick") is None


def test_a_failure_is_said_and_left_to_the_end(asked, tmp_path, capsys):
    (tmp_path / "results").write_text("not a folder")
    collector = Collector("quick", tmp_path / "runs", tmp_path / "results")
    with collector.watching({NAME: asked}):
        train(asked, tmp_path)
        while not collector._begun:
            collecting.threading.Event().wait(0.01)
    assert not collector.has(NAME)
    assert capsys.readouterr().err.startswith(f"{NAME}: collected once more, since it failed beside training (")


def test_one_or_two_cores_are_left_to_training(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "cores", lambda: 2)
    collector = Collector("quick", tmp_path / "runs", tmp_path / "results")
    with collector.watching({NAME: asked}):
        train(asked, tmp_path)
    assert not collector.has(NAME) and not (tmp_path / "results").exists()


@pytest.mark.parametrize("interrupted", [True, False])
def test_an_interrupted_command_does_not_wait_for_what_it_has_not_begun(asked, tmp_path, monkeypatch, interrupted):
    """Many experiments may be waiting to be collected when Ctrl-C is pressed."""
    monkeypatch.setattr("grokscope.helpers.MOST", 1)
    monkeypatch.setattr(collecting, "_collect", print)  # an instant, while a process takes seconds to start
    train(asked, tmp_path)
    collector = Collector("quick", tmp_path / "runs", tmp_path / "results")
    names = [f"experiment {number}" for number in range(50)]
    with suppress(KeyboardInterrupt), collector.watching(dict.fromkeys(names, asked)):
        while len(collector._begun) < len(names):
            collecting.threading.Event().wait(0.001)
        if interrupted:
            raise KeyboardInterrupt
    cancelled = sum(future.cancelled() for future in collector._begun.values())
    assert (cancelled > 0) == interrupted
