"""Rules: runs in, verdict out, as the rule says in words."""

import numpy as np
import pandas as pd
import pytest
from tables import runs_of

from grokscope.analysis import holm, log_rank
from grokscope.experiments.clauses import SECONDS, NotRunError, times
from grokscope.experiments.rules import (
    broken_line,
    either,
    falls_with,
    fastest_family,
    groks,
    higher,
    in_most_runs,
    in_regimes,
    never_groks,
    no_later_in_each,
    regime_pairs,
    sooner,
    sooner_in_each,
    verdict_on,
)

SOON, LATE, MIXED = [100, 120, 90, 110, 130], [900, 1000, 1100, 800, None], [100, 1000, 300, 500, 120]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"a": True, "b": True}, ("holds", "")),
        ({"a": True, "b": None}, ("holds only when", "a")),
        ({"a": True, "b": False, "c": True}, ("holds only when", "a or c")),
        ({"a": False, "b": None}, ("does not hold", "")),
        ({"a": None}, ("not decided", "")),
        ({}, ("not decided", "")),
    ],
)
def test_one_verdict_from_several_cases(outcomes, expected):
    assert verdict_on(outcomes) == expected


def test_sooner():
    judge = sooner("a", "b")
    assert judge(runs_of(a=SOON, b=LATE)).verdict == "holds"
    assert judge(runs_of(b=SOON, a=LATE)).verdict == "does not hold"
    undecided = judge(runs_of(a=[100, 1000, 300, 500], b=[200, 900, 350, 480]))
    assert (undecided.verdict, undecided.test) == ("not decided", "log-rank")
    with pytest.raises(NotRunError):
        judge(runs_of(a=SOON))


def test_sooner_in_each_corrects_over_all_comparisons():
    table = runs_of(x__a=SOON, x__b=LATE, y__a=MIXED, y__b=[600, 700, 1000, 400, 900])
    cases = {"x": ("x, a", "x, b"), "y": [("y, a", "y, b"), ("x, a", "y, b")], "z": ("z, a", "z, b")}
    ruling = sooner_in_each(cases)(table)
    raw = [
        log_rank(times(table, a), times(table, b)).p for a, b in [("x, a", "x, b"), ("y, a", "y, b"), ("x, a", "y, b")]
    ]
    expected = holm(raw)
    assert ruling.numbers["p"] == {"x": [pytest.approx(expected[0])], "y": pytest.approx(list(expected[1:]))}
    assert expected[1] > 0.05 > max(expected[0], expected[2])
    # y needs both of its pairs; z was not run
    assert (ruling.verdict, ruling.when) == ("holds only when", "x")
    assert ruling.test == "log-rank, Holm's correction over 3 comparisons"
    first, second = ruling.measured.splitlines()
    assert first == f"x: a: 110 (90–130; 5/5) · b: 1,000 (800–never; 4/5), p = {expected[0]:.2g}"
    assert second.startswith("y, b: 700 (400–1,000; 5/5) · y, a: ")
    assert second.endswith(f", p = {expected[1]:.2g} · x, a: 110 (90–130; 5/5), p = {expected[2]:.2g}")


def test_what_arms_share_is_said_once():
    """One line for pairs with an arm in common; their first words go ahead."""
    table = pd.concat(
        [
            runs_of(a=SOON, b=LATE, c=SOON).assign(arm=lambda t: "q = 4, " + t["arm"]),
            runs_of(d=SOON, e=LATE),
        ]
    )
    cases = {"q = 4, a": ("q = 4, a", "q = 4, b"), "q = 4, c": ("q = 4, c", "q = 4, b"), "d": ("d", "e")}
    first, second = sooner_in_each(cases)(table).measured.splitlines()
    assert [part.split(": ")[0] for part in first.split(" · ")] == ["q = 4", "a", "c"]
    assert first.startswith("q = 4: b: 1,000 (800–never; 4/5) · a: 110 (90–130; 5/5), p = ")
    assert second.startswith("d: 110 (90–130; 5/5) · e: 1,000 (800–never; 4/5), p = ")
    unlike = {"x": [("q = 4, a", "q = 4, b"), ("q = 4, c", "e")], "y": ("d", "q = 4, b")}
    assert len(sooner_in_each(unlike)(table).measured.splitlines()) == 3


def test_cases_of_one_regime_are_named_together():
    held = ["q = 16, a", "operand vocabulary, b, c", "q = 16, d", "q = 4, e"]
    assert either(held) == "q = 16 (a or d) or operand vocabulary (b, c) or q = 4, e"


def test_no_later_allows_a_quarter_more():
    judge = no_later_in_each({"": ("a", "b")})
    assert judge(runs_of(a=SOON, b=LATE)).verdict == "holds"
    assert judge(runs_of(a=LATE, b=SOON)).verdict == "does not hold"
    assert judge(runs_of(a=[100, 120, 200], b=[100, 110, 300])).verdict == "holds"
    assert judge(runs_of(a=[100, 190, 200], b=[100, 110, 300])).verdict == "not decided"
    assert judge(runs_of(a=[None, None], b=[None, None])).verdict == "not decided"


def test_in_regimes_judges_each_by_itself():
    table = pd.concat(
        [
            runs_of(a=SOON, b=[None] * 5).assign(arm=lambda t: "q = 16, " + t["arm"]),
            runs_of(a=[None] * 5, b=[None] * 5).assign(arm=lambda t: "operand vocabulary, " + t["arm"]),
        ]
    )
    some = in_regimes(groks(["a"], 0.8))(table)
    assert (some.verdict, some.when) == ("holds only when", "q = 16")
    assert [line.split(": ")[0] for line in some.measured.splitlines()] == ["q = 16", "operand vocabulary"]
    assert some.numbers["q = 16"]["a"]["never"] == 0
    partly = in_regimes(groks(["a", "b"], 0.8))(table)
    assert (partly.verdict, partly.when) == ("holds only when", "q = 16 (a)")
    assert in_regimes(groks(["b"], 0.8))(table).verdict == "does not hold"
    assert in_regimes(never_groks(["b"]))(table).verdict == "holds"
    # a regime in which it holds for one arm of two is no plain "holds"
    alone = in_regimes(groks(["a", "b"], 0.8))(table[table["arm"].str.startswith("q = 16")])
    assert (alone.verdict, alone.when) == ("holds only when", "a")


def test_pairs_in_regimes():
    assert regime_pairs(("a", "b"), ("a", "c"))["q = 16"] == [("q = 16, a", "q = 16, b"), ("q = 16, a", "q = 16, c")]
    table = runs_of(a=SOON, b=LATE).assign(arm=lambda t: "q = 16, " + t["arm"])
    assert sooner_in_each(regime_pairs(("a", "b")))(table).verdict == "holds"


def test_shares():
    table = runs_of(a=[100, 200, None], b=[None, None, None])
    assert never_groks(["b"])(table).verdict == "holds"
    assert never_groks(["a"])(table).verdict == "does not hold"
    partly = never_groks(["a", "b"])(table)
    assert (partly.verdict, partly.when, partly.test) == ("holds only when", "b", "share of runs")
    assert groks(["a"], 0.6)(table).verdict == "holds"
    assert groks(["a"], 0.8)(table).verdict == "does not hold"


def test_in_most_runs_leaves_out_what_does_not_apply():
    table = pd.DataFrame({"arm": ["a"] * 5, "x": [1.0, 1.0, 1.0, np.nan, np.nan]})
    judge = in_most_runs(["a", "absent"], lambda runs: (runs["x"] > 0).where(runs["x"].notna()), lambda runs: "")
    assert judge(table).verdict == "holds"
    assert judge(table).numbers == {"a": {"true": 3, "n": 3}}
    assert judge(table).measured == "a: 3/3 runs (95 % interval 29–100 %)"
    assert judge(table.assign(x=np.nan)).verdict == "not decided"
    assert judge(table.assign(x=-1.0)).verdict == "does not hold"


BETAS = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]


def sweep(t_grok):
    """Five seeds at every strength; `t_grok` gives the time of each, or None."""
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        [
            {"arm": f"{b}", "prior.beta": b, "t_grok": t_grok(b) + generator.normal(0, 60), "epoch": 20000}
            for b in BETAS
            for _ in range(5)
        ]
    )


def inverse_law(draws=200):
    return broken_line([str(b) for b in BETAS], lambda runs: 1 / runs["prior.beta"], "1/β", draws=draws)


def test_broken_line_finds_slope_and_floor():
    ruling = inverse_law()(sweep(lambda b: max(1500, 800 + 30 / b)))
    assert ruling.verdict == "holds"
    assert ruling.numbers["slope"] == pytest.approx(30, rel=0.1)
    assert ruling.numbers["floor"] == pytest.approx(1500, rel=0.1)
    assert inverse_law()(sweep(lambda b: 1500)).verdict == "does not hold"


def test_broken_line_leaves_out_arms_that_were_cut_short():
    table = sweep(lambda b: 800 + 30 / b)
    table.loc[table.index[:2], "t_grok"] = np.nan  # two of five at the weakest prior: the rest would look too early
    ruling = inverse_law()(table)
    assert (ruling.numbers["n"], ruling.numbers["never"]) == (25, 2)
    assert "left out, with 2 runs that never grokked: 0.003" in ruling.measured
    assert ruling.numbers["slope"] == pytest.approx(30, rel=0.1)
    few = table.assign(t_grok=table["t_grok"].where(table["prior.beta"] >= 0.1))
    assert inverse_law()(few).verdict == "not decided"


def test_higher_and_falls_with():
    table = runs_of(a=[1] * 5, b=[1] * 5).assign(accuracy=[0.9, 0.91, 0.92, 0.93, 0.94, 0.5, 0.51, 0.52, 0.53, 0.54])
    judge = higher("accuracy", "a", "b", "accuracy")
    assert judge(table).verdict == "holds"
    assert "a: median accuracy 92.0% (90.0%–94.0%; 5 runs)" in judge(table).measured
    assert higher("accuracy", "b", "a", "accuracy")(table).verdict == "does not hold"
    widths = runs_of(small=[None, 900, 800], middle=[500, 600, 550], large=[100, 120, 110])
    widths = widths.assign(d=widths["arm"].map({"small": 16, "middle": 32, "large": 64}))
    assert falls_with("d", ["small", "middle", "large"], "d")(widths).verdict == "holds"
    assert falls_with("d", ["small", "middle", "large"], "d")(widths.assign(d=-widths["d"])).verdict == "does not hold"


def test_the_fastest_family_on_two_clocks():
    table = runs_of(a1=[500] * 5, a2=SOON, b1=LATE, b2=[700, 710, 720, 730, 740], c1=[105, 95, 100, 125, 130])
    table = table.assign(seconds_alone=table["t_grok"] * table["arm"].map({"c1": 100}).fillna(1), seconds_alone_end=1e5)
    families = {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": ["c1"], "not run": ["d1"]}
    ruling = fastest_family("a", families, also=SECONDS)(table)
    assert (ruling.verdict, ruling.when) == ("holds only when", "compared with b")
    assert "a2: 110 (90–130; 5/5), 110 s (90–130; 5/5) · b2: 720" in ruling.measured
    assert fastest_family("a", families, SECONDS)(table).verdict == "holds"
