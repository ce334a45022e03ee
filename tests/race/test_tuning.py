"""Tuning: the rule of choice on made-up times, and real runs that are stopped and continued."""

import math
from dataclasses import replace

import pytest

from grokscope.launch.local import train_all
from grokscope.models.onehot_mlp import OneHotMLP
from grokscope.race.methods.base import Method, method
from grokscope.race.space import LogUniform
from grokscope.race.tracks.base import Sizes, Track
from grokscope.race.tuning import SEEDS, StoppedError, Tuning
from grokscope.store.tuned import load_tuned
from grokscope.tasks.modular import Modular


class Toy(Track):
    """A track for tests."""

    kind = "toy"
    title = "toy"
    task = Modular(p=7, distractors=0, train_fraction=0.8)
    model = OneHotMLP(width=16, layers=1)
    horizon = 160
    every = 10


class Tried(Method):
    """A method for tests."""

    kind = "tried"
    title = "tried"
    space = {"optim.lr": LogUniform(1e-3, 1e-1)}  # noqa: RUF012


class MadeUp(Tuning):
    """Tuning with times that are given: `times(draw, seed)` is the epoch of the first crossing, None for never, "diverged"."""

    def _train(self, wanted):
        numbers = {settings["optim.lr"]: n for n, settings in enumerate(Tried().draws(self.sizes.draws))}
        for entries in wanted.values():
            for one, epoch in entries:
                self.asked.append((numbers[one.config.optim.lr], one.config.seed, epoch))
                found = self.times(numbers[one.config.optim.lr], one.config.seed)
                one.dropped = "diverged" if found == "diverged" else ""
                one.time = found if isinstance(found, int) and found <= epoch else None
                one.epoch = one.time or epoch
                one.best = 0.5 + 0.01 * numbers[one.config.optim.lr]


SIX = Sizes(6, 2, 3, 5)


def made_up(tmp_path, times, sizes=SIX):
    tuning = MadeUp(Toy(), {"tried": Tried()}, "full", sizes, tmp_path, "float32", train=None)
    tuning.asked, tuning.times = [], times
    return tuning, tuning.run()["tried"]


def test_the_heat_ends_when_enough_draws_have_reached(tmp_path):
    tuning, found = made_up(tmp_path, lambda draw, seed: [None, 40, 10, None, 30, "diverged"][draw])
    heat = [asked for asked in tuning.asked if asked[1] == SEEDS[0]]
    assert max(epoch for *_, epoch in heat) == 40  # of rungs 20, 40, 80 and 160
    assert [asked for asked in heat if asked[0] == 5] == [(5, SEEDS[0], 20)], "a draw that diverged is not continued"
    assert [asked for asked in heat if asked[0] == 2] == [(2, SEEDS[0], 20)], "nor is one that has reached"
    assert found["draw"] == 2 and found["reached"] == 3 and found["diverged"] == 1


def test_finalists_train_four_times_as_long_as_they_took_at_most(tmp_path):
    tuning, _ = made_up(tmp_path, lambda draw, seed: [None, 60, 10, None, None, None][draw])
    final = {(draw, epoch) for draw, seed, epoch in tuning.asked if seed != SEEDS[0]}
    assert final == {(2, 40), (1, 160)}


def test_the_most_seeds_win_and_then_the_geometric_mean(tmp_path):
    times = {1: {1000: 20, 1001: 70, 1002: 60}, 2: {1000: 10, 1001: None, 1002: 12}}
    _, found = made_up(tmp_path / "a", lambda draw, seed: times.get(draw, {}).get(seed))
    assert found["draw"] == 1, "it reaches with all three seeds"
    times[2] = {1000: 10, 1001: 39, 1002: 38}
    _, found = made_up(tmp_path / "b", lambda draw, seed: times.get(draw, {}).get(seed))
    assert found["draw"] == 2 and found["steps"] == [10, 39, 38]


def test_the_cost_counts_every_draw_and_every_finalist(tmp_path):
    tuning, found = made_up(tmp_path, lambda draw, seed: [80, 40, 10, 20, 30, 50][draw])
    heat = 20 + 10 + 4 * 20  # it ends at the first rung, epoch 20: draws 2 and 3 stop where they reach
    final = 2 * (10 + 20)
    assert found["run_steps"] == heat + final and found["runs"] == 6 + 4
    assert tuning.methods["tried"].draws(6)[2] == found["settings"]


def test_where_nothing_reaches_the_best_accuracy_is_chosen_and_said(tmp_path):
    tuning, found = made_up(tmp_path, lambda draw, seed: None)
    assert found["draw"] == 5 and found["note"] == "no draw reached 99 %; the best has 55.0 %"
    assert found["steps"] == [None] and {seed for _, seed, _ in tuning.asked} == {SEEDS[0]}


def test_what_is_tuned_is_not_tuned_again_unless_the_protocol_differs(tmp_path):
    made_up(tmp_path, lambda draw, seed: 10)
    tuning, _ = made_up(tmp_path, lambda draw, seed: 10)
    assert tuning.asked == []
    tuning, _ = made_up(tmp_path, lambda draw, seed: 10, Sizes(7, 2, 3, 5))
    assert tuning.asked


def test_a_method_with_another_range_is_tuned_again(tmp_path, monkeypatch):
    _, found = made_up(tmp_path, lambda draw, seed: 10)
    monkeypatch.setattr(Tried, "space", {"optim.lr": LogUniform(1e-2, 1.0)})
    tuning, other = made_up(tmp_path, lambda draw, seed: 10)
    assert tuning.asked
    assert other["settings"] == Tried().draws(6)[other["draw"]] != found["settings"]
    assert load_tuned(tmp_path, "race-toy", "full")["tried"]["settings"] == other["settings"]


def real(tmp_path, train, results="results"):
    sizes = Sizes(3, 1, 2, 2)
    methods = {"tried": Tried(), "sgd": method("sgd")}
    return Tuning(Toy(), methods, "full", sizes, tmp_path / results, "float32", train)


def test_tuning_that_was_stopped_makes_the_same_choice(tmp_path):
    def train(runs, budget=math.inf):
        calls = []

        def call(configs, names):
            calls.append(len(configs))
            done = train_all(configs, runs=runs, device="cpu", notify=lambda line: None)
            return done if len(calls) <= budget else [replace(done[0], status="stopped"), *done[1:]]

        return call

    whole = real(tmp_path, train(tmp_path / "one"), "whole").run()
    with pytest.raises(StoppedError):
        real(tmp_path, train(tmp_path / "two", budget=2), "parts").run()
    assert load_tuned(tmp_path / "parts", "race-toy", "full") == {}
    assert real(tmp_path, train(tmp_path / "two"), "parts").run() == whole
    assert load_tuned(tmp_path / "parts", "race-toy", "full") == whole
    assert set(whole) == {"tried", "sgd"}
    assert all(own["run_steps"] > 0 and own["runs"] >= 3 for own in whole.values())
