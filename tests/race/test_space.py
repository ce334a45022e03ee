"""Draws of settings: made once and for all, log-uniform, independent of how many are made."""

import math

import pytest

from grokscope.errors import ConfigError
from grokscope.race.methods.base import accelerators, method
from grokscope.race.space import LogUniform, draws, middle

SPACE = {"optim.lr": LogUniform(1e-4, 1e-1), "optim.beta1": LogUniform(0.01, 0.5, complement=True)}


def test_draws_are_those_of_the_protocol():
    """Results rest on these numbers: they may never change."""
    first, second = method("adamw").draws(2)
    assert first == {"optim.lr": 0.0081899, "optim.weight_decay": 0.0817}
    assert second == {"optim.lr": 0.00087399, "optim.weight_decay": 0.01242}
    assert method("grokfast-ema").draws(1)[0]["filter.alpha"] == 0.967165


@pytest.mark.parametrize("name", list(accelerators.entries()))
def test_the_first_draws_do_not_depend_on_how_many_there_are(name):
    assert method(name).draws(64)[:5] == method(name).draws(5)


def test_draws_are_log_uniform_and_methods_differ():
    drawn = draws("x", SPACE, 4000)
    places = sorted((math.log(d["optim.lr"]) - math.log(1e-4)) / math.log(1e3) for d in drawn)
    assert (
        max(abs(place - n / 4000) for n, place in enumerate(places)) < 0.03
    )  # Kolmogorov–Smirnov, p < 1 in 1000 is 0.031
    assert all(0.5 <= d["optim.beta1"] <= 0.99 for d in drawn)
    assert draws("y", SPACE, 3) != drawn[:3]


def test_the_middle_is_geometric():
    assert middle(SPACE) == {"optim.lr": 0.0031623, "optim.beta1": pytest.approx(1 - math.sqrt(0.005), abs=1e-3)}


def test_an_empty_range_is_refused():
    with pytest.raises(ConfigError, match="space of method x is empty"):
        draws("x", {"optim.lr": LogUniform(0.0, 1.0)}, 1)


@pytest.mark.parametrize(("value", "edge"), [(1e-4, True), (1.3e-4, True), (1e-3, False), (0.09, True), (0.05, False)])
def test_the_edges_of_a_range(value, edge):
    assert LogUniform(1e-4, 0.1).is_edge(value) is edge
    assert LogUniform(1e-4, 0.1, complement=True).is_edge(1 - value) is edge
