"""One battery over every method and every track."""

import pytest

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.race.estimate import check_sizes, estimate
from grokscope.race.methods.base import Method, accelerators, configured, method, methods_on
from grokscope.race.tracks.base import SIZES, Sizes, track, tracks

METHODS, TRACKS = list(accelerators.entries()), sorted(tracks.entries())


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_described_and_has_a_control_or_says_why_not(name):
    own = method(name)
    assert own.title and type(own).__doc__ and "\n" not in type(own).__doc__.strip()
    assert (own.control is None) == bool(own.uncontrolled)
    assert not own.inherits or own.inherits in METHODS


def test_titles_are_the_names_of_arms_and_differ():
    assert len({method(name).title for name in METHODS}) == len(METHODS)


@pytest.mark.parametrize(
    ("title", "problem"),
    [
        ("AdamW", "methods adamw and mine are both called 'AdamW'"),
        ("", "method mine has none; tables name it by its title"),
    ],
)
def test_a_method_without_a_title_of_its_own_is_refused(monkeypatch, title, problem):
    mine = type("Mine", (Method,), {"title": title})
    monkeypatch.setattr(accelerators, "_entries", {**accelerators.entries(), "mine": mine})
    with pytest.raises(ConfigError, match=problem) as error:
        methods_on(track("A").base())
    assert error.value.field == "title"


@pytest.mark.parametrize("name", [name for name in METHODS if method(name).control])
def test_a_control_can_be_run_and_compared(name):
    control = method(name).control
    configured(RunConfig(), control.settings).check()
    assert control.reported and (control.steps is None) == (control.baseline is not None)
    if control.baseline is not None:
        configured(RunConfig(), {**control.settings, **control.baseline}).check()


@pytest.mark.parametrize("letter", TRACKS)
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_draw_of_every_method_that_applies_can_be_trained(letter, scale):
    own = track(letter)
    applicable, excluded = methods_on(own.base(scale))
    assert set(applicable) | set(excluded) == set(METHODS)
    assert all(reason and "\n" not in reason for reason in excluded.values())
    for one in applicable.values():
        ids = {own.tuning(scale, settings, 1000, 10).id for settings in one.draws(64 if scale == "full" else 4)}
        assert len(ids) == (1 if one.inherits else 64 if scale == "full" else 4)


def test_what_does_not_apply_says_why():
    _, excluded = methods_on(track("A").base())
    assert set(excluded) == {"oracle", "search", "uniform"}
    assert "no attention" in excluded["oracle"]
    _, excluded = methods_on(track("B").base())
    assert list(excluded) == ["search"]
    assert methods_on(track("D").base())[1] == {}


@pytest.mark.parametrize("letter", TRACKS)
def test_rungs_end_at_the_horizon_and_fall_on_evaluations(letter):
    own = track(letter)
    rungs = own.rungs("full")
    assert rungs == sorted(set(rungs)) and rungs[-1] == own.horizon
    assert all(rung % own.every == 0 for rung in rungs)


def test_names_that_do_not_exist_are_answered_by_the_nearest():
    assert track("c").kind == "C"
    with pytest.raises(ConfigError, match="no track is called 'Z'"):
        track("Z")
    with pytest.raises(ConfigError, match="Did you mean lion"):
        method("lino")


def test_the_estimate_counts_draws_finals_and_seeds():
    own = track("E")
    base = own.base()
    found = estimate(own, [method("adamw"), method("lion")], "full", Sizes(10, 2, 3, 5))
    steps = base.epochs * base.steps_per_epoch
    assert (found.tuning, found.scoring) == (2 * (10 + 2 * 2) * steps, 2 * 5 * steps)
    inherited = estimate(own, [method("search")], "full", SIZES["full"])
    assert inherited.tuning == 0


@pytest.mark.parametrize(("sizes", "line"), [((1, 1, 2, 3), "too small a budget"), ((4, 1, 2, 0), "below 1")])
def test_a_budget_that_is_too_small_is_refused(sizes, line):
    with pytest.raises(ConfigError, match=line):
        check_sizes(Sizes(*sizes))
