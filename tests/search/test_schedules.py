"""Schedules: who goes on, and when."""

import itertools
import math

import pytest

from grokscope.searching.candidates import Standing
from grokscope.searching.schedules.base import schedules
from grokscope.searching.schedules.halving import Halving
from grokscope.searching.schedules.racing import Racing

CHANCE = math.log(10)


def field(*losses, error=0.05):
    return [Standing((place,), loss, error, 0.0) for place, loss in enumerate(losses)]


def places(standings):
    return [one.units[0] for one in standings]


@pytest.mark.parametrize("kind", sorted(schedules.entries()))
def test_every_schedule_waits_for_a_leader_and_keeps_the_best(kind):
    schedule = schedules.get(kind)()
    alike = field(*(CHANCE - 0.001 * place for place in range(8)))
    assert len(schedule.survivors(alike, CHANCE)) == 8
    led = field(*[CHANCE] * 6, 0.5, math.inf)
    left = schedule.survivors(led, CHANCE)
    assert left[0].units == (6,) and len(left) < 8
    assert schedule.survivors(left[:1], CHANCE) == left[:1]
    rungs = list(itertools.islice(schedule.rungs(75), 6))
    assert rungs == sorted(set(rungs)) and rungs[0] > 75


def test_halving_keeps_the_best_quarter():
    assert places(Halving().survivors(field(*[2.0] * 7, 1.0), CHANCE)) == [7, 0]
    assert places(Halving(factor=2).survivors(field(2.0, 1.5, 1.0, 1.9), CHANCE)) == [2, 1]
    assert list(itertools.islice(Halving().rungs(100), 3)) == [150, 225, 338]


def test_racing_drops_what_chance_does_not_explain():
    standings = field(1.0, 1.1, 1.5, 2.0)
    # z = 2.71 for 3 comparisons at 1 %, times √2 · 0.05 = 0.19
    assert places(Racing().survivors(standings, CHANCE)) == [0, 1]
    assert places(Racing().survivors(field(1.0, 1.1, 1.5, 2.0, error=0.2), CHANCE)) == [0, 1, 2]


def test_the_first_rung_is_later_where_learning_is_slower(tiny):
    from dataclasses import replace

    assert Halving().first_rung(tiny) == 75
    assert Halving().first_rung(replace(tiny, optim=replace(tiny.optim, lr=1e-3))) == 750
    assert Halving(first=10).first_rung(tiny) == 10
