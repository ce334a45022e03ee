"""Verdict cards: the line of no effect, intervals without an end, what is asked for, and what is folded."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from grokscope.experiments.base import VERDICTS, all_experiments
from grokscope.experiments.cards import MARKS, SHOWN, WORDS, card
from grokscope.experiments.column_words import in_words
from grokscope.experiments.effects import WIDTH, axis_ticks, effect_axis, effect_svg


def effect(name="time ratio", value=0.5, low=0.4, high=0.6, of=""):
    numbers = f"{value} ({low} to {high})"
    ends = {"value": value, "low": low, "high": high}
    return {"name": name, "of": of, **ends, "numbers": numbers, "text": f"{name} = {numbers}"}


def case(name="", verdict="agrees", **given):
    plain = {
        "effects": [effect()],
        "p": 0.001,
        "seeds": 20,
        "simulated": None,
        "asked": None,
        "blocked": "",
        "note": "",
        "measured": "a: 5 · b: 9",
    }
    return {"name": name, "verdict": verdict, **plain, **given}


def row(**given):
    plain = {
        "id": "si-toy/one",
        "paper": "structural-inference",
        "of": "paper",
        "statement": "It is sooner.",
        "reported": "",
    }
    plain |= {
        "verdict": "agrees",
        "when": "",
        "cases": [case()],
        "p": 0.001,
        "q": 0.002,
        "test": "sign test",
        "rule": "Rule",
    }
    plain |= {
        "measured": "line",
        "remark": "",
        "settings": "ours",
        "differs": "",
        "runs": 40,
        "scale": "full",
        "seeds": 20,
        "seeds_per_arm": [20],
        "epochs": [15_000],
    }
    return {**plain, **given}


def test_a_card_tells_seeds_and_horizons():
    told = card(row(runs=60, seeds=40, seeds_per_arm=[20, 40], epochs=[4000, 15_000, 60_000]))
    assert (
        "60 at full size, 20 or 40 seeds per arm; they end after 4,000, 15,000 or 60,000 epochs at the latest" in told
    )
    assert "seeds per arm" not in card(row(seeds=None, seeds_per_arm=[], epochs=[]))


@pytest.mark.parametrize(
    ("name", "none"),
    [
        ("time ratio", 1.0),
        ("time ratio of ticket to the end", 1.0),
        ("difference in accuracy_600", 0.0),
        ("Spearman's ρ of a and b", 0.0),
        ("share", None),
        ("mean of accuracy_600", None),
        ("median of first crossing of 99 %", None),
        ("median of τ_grok", 1.0),
    ],
)
def test_the_line_of_no_effect(name, none):
    axis = effect_axis([effect(name)])
    assert axis is not None and axis.none == none
    assert ('class="none"' in effect_svg(effect(name), axis)) == (none is not None)
    if none is not None:
        assert none in axis_ticks(axis)
        assert axis.low < none < axis.high


def test_a_common_axis_holds_every_interval():
    effects = [effect(value=0.02, low=0.01, high=0.05), effect(value=3.0, low=2.0, high=7.0)]
    axis = effect_axis(effects)
    places = [axis.place(x) for x in (0.01, 0.05, 1.0, 2.0, 7.0)]
    assert places == sorted(places) and 0 < places[0] and places[-1] < WIDTH
    assert axis_ticks(axis) == sorted(axis_ticks(axis))


def test_ends_that_are_not_bounded_are_arrows():
    axis = effect_axis([effect(high=None)])
    assert effect_svg(effect(high=None), axis).count('class="range"') == 2
    assert effect_svg(effect(low=None, high=None), axis).count('class="range"') == 3
    assert "circle" not in effect_svg(effect(value=None), axis)
    assert effect_axis([effect("exponent", None, None, None)]) is None
    unknown = effect(low=0.0, high=None)  # a ratio that begins at 0 is bounded on neither side
    axis = effect_axis([unknown, effect()])
    assert axis.log and axis.none == 1.0 and effect_svg(unknown, axis).count('class="range"') == 3
    assert not effect_axis([effect("mean of log10 of the largest ratio", -2.0, -3.0, -1.0)]).log


def test_what_is_asked_for_is_shaded():
    html = card(
        row(cases=[case(effects=[effect("mean of x")], asked=(-1.0, 0.2)), case(effects=[effect("mean of x")])])
    )
    assert html.count('class="asked"') == 1
    axis = effect_axis([effect("exponent", 0.9, 0.8, 1.0)], [(0.4, 0.6)])
    assert axis.low < 0.6 and 'class="asked"' in effect_svg(effect("exponent", 0.9, 0.8, 1.0), axis, (0.4, 0.6))


def test_the_range_that_is_asked_for_has_ticks_where_it_is_one():
    exponents = [effect("exponent", 0.5, 0.4, 0.6), effect("exponent", 0.7, 0.6, 0.75)]
    assert 0.833 in axis_ticks(effect_axis(exponents, [(0.833, 1.2), (0.833, 1.2)]))
    assert 0.833 not in axis_ticks(effect_axis(exponents, [(0.833, 1.2), (0.9, 1.1)]))


def test_an_effect_at_the_edge_of_its_grid_shares_the_scale_of_the_others():
    near, far = (
        case(name, effects=[effect(f"exponent{more}", *ends)])
        for name, more, ends in (
            ("q = 1", "", (0.5, 0.4, 0.6)),
            ("q = 4", ", at the edge of the grid", (0.05, 0.05, 0.2)),
        )
    )
    html = card(row(cases=[near, far]))
    assert html.count('class="axis"') == 1
    assert "0.05 (0.05 to 0.2)</b> exponent, at the edge of the grid" in html


def test_ranges_of_times_and_ratios_are_shaded_too():
    for name, asked in (("median of first crossing", (687.0, 1192.0)), ("median of τ_grok", (0.0, 2.0))):
        shown = effect(name, 900.0, 800.0, 1100.0)
        assert 'class="asked"' in effect_svg(shown, effect_axis([shown], [asked]), asked)


def test_every_verdict_has_a_mark_and_words_of_its_own():
    assert set(MARKS) == set(WORDS) == set(VERDICTS)
    assert len(set(MARKS.values())) == len(set(WORDS.values())) == len(VERDICTS)
    for verdict in VERDICTS:
        html = card(row(verdict=verdict))
        assert MARKS[verdict] in html and WORDS[verdict] in html


def test_a_card_is_well_formed_and_escapes_text():
    evil = "<b>&"
    html = card(row(statement=evil, reported=evil, rule=evil, when=evil, cases=[case(evil, measured=evil)]))
    root = ET.fromstring(html)
    assert "".join(root.itertext()).count(evil) == 7
    assert "<b>&" not in html


def test_many_cases_are_folded_and_notes_of_the_ledger_kept():
    cases = [case(f"case {n}") for n in range(SHOWN + 4)]
    measured = "\n".join(["one line"] * len(cases)) + "\n3 runs diverged"
    html = card(row(cases=cases, measured=measured))
    assert "4 more cases" in html and "3 runs diverged" in html and "one line" not in html
    assert "more cases" not in card(row(cases=cases[: SHOWN + 1]))


def test_the_name_of_a_common_effect_stands_in_the_heading():
    html = card(row(cases=[case("x"), case("y")]))
    assert html.count("time ratio") == 1 and "time ratio (95 % interval)" in html
    mixed = card(row(cases=[case("x"), case("y", effects=[effect("exponent")])]))
    assert "effect (95 % interval)" in mixed and "exponent" in mixed


def test_the_arm_of_an_effect_stands_beside_its_numbers():
    two = [case("15", effects=[effect("share", of="radius 15")]), case("20", effects=[effect("share", of="radius 20")])]
    assert "</b> radius 15<" in card(row(cases=two)) and "share (95 % interval)" in card(row(cases=two))


def test_few_cases_are_named_and_many_counted():
    when = "agrees: x · disagrees: y"
    assert f"We found:</b> {when}." in card(row(when=when, cases=[case("x"), case("y", "disagrees")]))
    many = [case(f"x {n}", "agrees" if n else "disagrees") for n in range(6)]
    assert "We found:</b> agrees in 5 of 6 cases, disagrees in 1." in card(row(when=when, cases=many))


def test_a_case_that_is_blocked_says_why_once():
    html = card(
        row(
            cases=[case("x", "cannot be told", effects=[], blocked="no seed is left", measured="no seed is left: 0/20")]
        )
    )
    assert html.partition("<details>")[0].count("no seed is left") == 1


def test_ticks_stand_under_the_last_case_of_each_scale():
    html = card(row(cases=[case("x"), case("y", effects=[], measured="nothing"), case("z")]))
    assert html.count('class="axis"') == 1 and html.index('class="axis"') > html.index(">z<")
    assert "time ratio (95 % interval)" in html


def test_columns_are_named_in_words():
    named = case(effects=[effect("mean of best_test_accuracy")], asked=(0.0, 0.05))
    html = card(row(cases=[named]))
    assert "mean of best test accuracy (95 % interval)" in html and "best_test_accuracy" not in html
    epochs = [case(name, effects=[effect(f"mean of accuracy_{at}")]) for name, at in (("a", 600), ("b", 2000))]
    html = card(row(cases=epochs))
    assert "mean of test accuracy (95 % interval)" in html
    assert "mean of test accuracy after 600 epochs" in html and "after 2,000 epochs" in html


def test_no_column_of_a_rule_keeps_its_underscores():
    """But those of symbols such as t_mem."""
    for experiment in all_experiments().values():
        for claim in experiment.claims:
            for name in re.findall(r"column='(\w+)'", repr(claim.rule)):
                assert not re.search(r"[a-z]{2}_", in_words(f"mean of {name}")), name
    assert in_words("median of τ_grok = t_gen/t_mem") == "median of τ_grok = t_gen/t_mem"


def test_the_range_that_is_asked_for_is_drawn_whole_where_there_is_room():
    effects = [effect("exponent", value, value - 0.05, value + 0.05) for value in (0.1, 0.7)]
    axis = effect_axis(effects, [(0.75, 1.25)])
    assert axis.low < 0.05 and axis.high > 1.25
    assert 'class="asked"' in effect_svg(effects[0], axis, (0.75, 1.25))
