"""An arm has one colour in all pictures of an experiment and of a page, whichever arms each of them shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from grokscope.experiments.base import all_experiments
from grokscope.experiments.drawing import drawn_pictures
from grokscope.experiments.looks import looks_of, without_part
from grokscope.figures import arm_colours
from grokscope.figures.data import same_looks_of
from grokscope.figures.meanings import MEANINGS, OTHERS, meaning_of, meanings_by_settings
from grokscope.figures.sequences import sequences
from grokscope.figures.style import arm_looks, same_looks, sequential_colours
from grokscope.store.results import load_results

RESULTS = Path(__file__).parents[2] / "results"
STORED = [name for name in all_experiments() if (RESULTS / name / "full" / "about.json").is_file()]
BLUE, GREEN = (MEANINGS[name].look.colour for name in ("baseline", "oracle prior"))


@pytest.mark.parametrize("name", STORED)
def test_the_pictures_of_an_experiment_agree(name):
    """Those of a part, of the arms but one, and of all arms together."""
    experiment, results = all_experiments()[name], load_results(RESULTS, name, "full")
    with looks_of(experiment, results):
        arms = list(dict.fromkeys(without_part(arm, experiment.parts) for arm in results.runs["arm"]))
        whole = arm_colours(arms)
        shown = [
            [a.removeprefix(f"{part}, ") for a in experiment.arms if a.startswith(part)] for part in experiment.parts
        ]
        shown += [[arm for arm in arms if arm != left] for left in arms]
        for some in shown:
            colours = arm_colours(some)
            assert {
                arm: colours[arm] for arm in set(some) - regrouped(some, arms) if arm in whole
            }.items() <= whole.items()


def regrouped(some, arms):
    """Arms of a cross of two settings that belong to another of its sequences where some arms are missing."""
    before, now = (sequences([arm for arm in own if not meaning_of(arm)]) for own in (arms, some))
    return {arm for group in now if not any(set(group) <= set(old) for old in before) for arm in group}


@pytest.mark.parametrize("name", ["causes-structure-norm", "causes-transplants"])
def test_dots_and_curves_of_an_arm_have_one_colour(name):
    experiment, results = all_experiments()[name], load_results(RESULTS, name, "full")
    part = experiment.parts[0]
    runs = results.runs[results.runs["arm"].str.startswith(f"{part}, ") & (results.runs["seed"] < 2)]
    few = results._replace(runs=runs, curves=results.curves[results.curves["run"].isin(runs["run"])])
    curves, after = (drawn.figure for drawn in drawn_pictures(replace(experiment, parts=[part]), few))
    lines = {
        " ".join(ax.get_title(loc="left").split()): to_hex(line.get_color())
        for ax in curves.axes
        for line in ax.lines
        if line.get_label() == "test"
    }
    rows = [" ".join(label.get_text().split()) for label in after.axes[0].get_yticklabels()]
    for dot in after.axes[0].lines:
        if dot.get_gid() in ("reached", "censored"):
            assert to_hex(dot.get_color()) == lines[rows[round(dot.get_ydata()[0])]]


def test_an_arm_that_only_some_pictures_show_moves_no_colour():
    with same_looks(["parent of all", "first", "second"]):
        assert arm_colours(["first", "second"]) == dict(zip(("first", "second"), OTHERS[1:3], strict=True))
        assert arm_colours(["first"]) == {"first": OTHERS[1]}
        assert arm_colours(["new", "first"])["new"] not in OTHERS[:3]
    assert arm_colours(["first", "second"]) == dict(zip(("first", "second"), OTHERS, strict=False))


def test_a_number_keeps_its_colour_where_others_are_left_out():
    rates = [f"rate 0.{n}" for n in range(1, 10)]
    with same_looks(rates):
        whole = arm_colours(rates)
        assert arm_colours(rates[4:]).items() <= whole.items()
        assert arm_looks(rates[4:])["rate 0.9"].dashes == "-"


def test_a_sequence_of_a_cross_keeps_its_order():
    rates = [f"lr {lr}, decay 1" for lr in (0.001, 0.003, 0.01)]
    decays = [f"lr 0.01, decay {decay}" for decay in (0.1, 1, 3)]
    with same_looks([*rates, *decays]):
        colours = arm_colours(decays)
    assert [colours[arm] for arm in decays] == sequential_colours(3)


@pytest.mark.parametrize(
    ("settings", "meanings"),
    [
        ({"no prior": {}, "β = 0.3": {"prior.beta": 0.3}}, {"β = 0.3": "oracle prior"}),
        ({"no prior": {"prior.beta": 0.0}, "kl": {"prior.kind": "kl", "prior.beta": 1.0}}, {"kl": "oracle prior"}),
        (
            {"no prior": {}, "a": {"prior.beta": 1.0}, "b": {"prior.beta": 1.0, "prior.target": "adversarial"}},
            {"a": "oracle prior", "b": "wrong prior"},
        ),
        ({"no prior": {}, "β = 0.1": {"prior.beta": 0.1}, "β = 0.3": {"prior.beta": 0.3}}, {}),  # a sequence
        ({"decay = 1": {"prior.beta": 0.3}, "decay = 2": {"prior.beta": 0.3}}, {}),  # nothing to tell apart by it
        ({"no prior": {}, "entropy": {"prior.kind": "entropy", "prior.beta": 0.3}}, {}),
        ({"no prior": {}, "pulse": {"prior.beta": 0.3, "prior.schedule": "pulse"}}, {}),
    ],
)
def test_settings_tell_what_the_name_does_not(settings, meanings):
    assert meanings_by_settings(list(settings), list(settings.values())) == meanings


def test_an_arm_that_mixes_priors_has_no_meaning():
    mixed = [{"prior.beta": 0.3}, {"prior.beta": 0.3, "prior.target": "adversarial"}, {}]
    assert meanings_by_settings(["a", "a", "b"], mixed) == {}


def test_a_prior_of_the_users_own_is_green(make):
    runs = [make("no prior"), make("kl", meaning="oracle prior")]
    with same_looks_of(runs):
        assert arm_colours(["no prior", "kl"]) == {"no prior": BLUE, "kl": GREEN}
        assert arm_colours(["kl"]) == {"kl": GREEN}
    assert arm_colours(["no prior", "kl"])["kl"] == OTHERS[0]
