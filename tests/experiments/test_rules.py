"""Every rule on tables with known answers: one that it must accept, one that it must refuse, one that does not tell."""

import numpy as np
import pandas as pd
import pytest
from controls import CONTROLS, FAST, LEVELS, NEVER, SLOW, TIMES, levels, with_column
from tables import lognormal, results_of

from grokscope.experiments.base import Case, Effect
from grokscope.experiments.clocks import (
    FIRST_95,
    FIRST_99,
    TAU_95,
    WAIT_99,
    Clock,
    NotRunError,
    clock_at,
    in_seconds,
    of_column,
    paired,
    with_origins,
)
from grokscope.experiments.columns import column, explained, registered
from grokscope.experiments.rules import (
    Alike,
    BestShareAtLeast,
    Conditional,
    Correlated,
    Custom,
    Differ,
    Fastest,
    Greater,
    InEach,
    Less,
    NoLater,
    PowerLaw,
    Reached,
    ShareAtLeast,
    ShareAtMost,
    Sooner,
    WithinRange,
    in_regimes,
)
from grokscope.experiments.settle import combined, settle


@pytest.mark.parametrize("name", CONTROLS)
def test_controls(name):
    rule, results, expected = CONTROLS[name]
    assert rule(results).verdict == expected, rule(results).measured


def test_every_rule_has_a_positive_a_negative_and_an_undecided_control():
    found = {(type(rule), verdict) for rule, _, verdict in CONTROLS.values()}
    shares, times = (ShareAtLeast, ShareAtMost, BestShareAtLeast), (Sooner, NoLater, Alike, Differ, Fastest)
    for kind in (*shares, *times, Greater, Correlated, WithinRange):
        assert {(kind, verdict) for verdict in ("agrees", "disagrees", "cannot be told")} <= found, kind
    assert {(PowerLaw, verdict) for verdict in ("agrees", "disagrees", "cannot be told")} <= found


def test_an_arm_without_a_value_is_not_tested_and_says_why(monkeypatch):
    made = with_column(1.5)
    none = made._replace(runs=made.runs.assign(norm=np.where(made.runs["arm"] == "a", np.nan, 1.0)))
    monkeypatch.setitem(explained, "norm", lambda results, arm: f"{arm} never grew")
    both = InEach({arm: WithinRange("norm", arm, 0.5, 2.5) for arm in ("a", "b", "absent")})(none)
    a, b, absent = both.cases
    assert (a.verdict, a.measured) == ("not tested", "no run to judge: a never grew")
    assert absent.verdict == "not tested" and absent.measured == "not run: absent"
    assert b.verdict == "agrees" and b.p == WithinRange("norm", "b", 0.5, 2.5)(none).cases[0].p  # Holm counts b alone


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_that_no_runs_can_show_is_refused(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        ShareAtLeast("a", share)


def test_share_and_time_that_contradict_each_other_do_not_tell():
    """Three of twenty reach, fifty times as fast; the others never do."""
    mixed = results_of(a=[100] * 9 + [None] * 11, b=[5000] * 20)
    ruling = Sooner("a", "b")(mixed)
    assert ruling.verdict == "cannot be told" and "opposite directions" in ruling.measured


def test_one_of_the_pairs_that_never_groks_does_not_decide():
    """Four of five dense nets at 15,000 and tickets at 300 said nothing under the log-rank test."""
    dense = [*lognormal(12_000, 19, spread=0.1, seed=4), None]
    tickets = [*lognormal(300, 19, spread=0.1, seed=5), None]
    results = results_of(horizon=30_000, dense=dense, ticket=tickets)
    assert Sooner("ticket", "dense")(results).verdict == "agrees"
    given = Conditional(Sooner("ticket", "dense"), Reached("dense"))(results)
    assert given.verdict == "agrees" and given.cases[0].seeds == 19
    assert "given that dense reached (first crossing of 99 %): 19/20 runs" in given.measured
    none = Conditional(Sooner("ticket", "dense"), Reached("dense"))(results_of(dense=NEVER, ticket=FAST))
    assert none.verdict == "cannot be told" and "0/20" in none.measured


def test_seeds_are_paired_and_only_common_ones_count():
    arms = results_of(a=[100, 200, 300], b=[1000, 2000])
    arms = arms._replace(runs=arms.runs.sample(frac=1, random_state=0))
    a, b = paired(arms.runs, ("a", "b"), FIRST_99)
    assert (list(a.time), list(b.time)) == ([100, 200], [1000, 2000])
    twice = arms._replace(runs=pd.concat([arms.runs, arms.runs]))
    with pytest.raises(ValueError, match="one run per seed"):
        Sooner("a", "b")(twice)


def test_holm_over_the_cases_of_a_claim():
    weak = results_of(a=[90] * 6, b=[100] * 6)  # one-sided p = 1/64, two-sided 0.031
    assert Sooner("a", "b")(weak).verdict == "agrees"
    both = InEach({"x": Sooner("a", "b"), "y": Sooner("b", "a", margin=9.0)})(weak)
    assert both.verdict == "cannot be told"
    assert both.cases[0].p == pytest.approx(2 * 2 / 64)
    assert both.test.endswith("Holm's correction over 2 cases")


def test_one_verdict_from_those_of_the_cases():
    assert combined({"a": "agrees", "b": "agrees"}) == ("agrees", "")
    assert combined({"a": "agrees", "b": "not tested"}) == ("agrees", "agrees: a · not tested: b")
    assert combined({"a": "agrees", "b": "disagrees"})[0] == "agrees in part"
    assert combined({"a": "agrees", "b": "cannot be told"}) == ("agrees in part", "agrees: a · cannot be told: b")
    assert combined({"a": "disagrees", "b": "cannot be told"})[0] == "disagrees"
    assert combined({"a": "cannot be told", "b": "not tested"})[0] == "cannot be told"
    assert combined({"a": "not tested"}) == ("not tested", "")


def test_in_regimes_the_regime_is_removed_from_the_names_and_missing_ones_are_skipped():
    results = results_of(**{"q = 16, a": FAST, "q = 16, b": SLOW})
    ruling = in_regimes(Sooner("a", "b"))(results)
    assert [(case.name, case.verdict) for case in ruling.cases] == [("q = 16", "agrees")]
    assert in_regimes(Sooner("a", "b"))(TIMES).verdict == "not tested"


def test_the_best_arm_is_chosen_on_other_seeds_than_it_is_compared_on():
    """Of thirty arms that are all alike one is ahead by luck; on the seeds that it was not chosen on it is not."""
    arms = {f"a{i}": lognormal(1000, seed=i) for i in range(30)}
    results = results_of(**arms, b=lognormal(1000, seed=77))
    ruling = Fastest("A", {"A": tuple(arms), "B": ("b",)})(results)
    assert ruling.verdict != "agrees" and ruling.cases[0].seeds == 10
    single = Fastest("A", {"A": ("a0",), "B": ("b",)})(results)
    assert single.cases[0].seeds == 20


def test_clusters_are_what_is_independent():
    """Five nets with twenty tickets each: the order of the tickets is that of their nets."""
    made = results_of(**{f"t{i}": [100.0] * 12 for i in range(20)})
    net = made.runs["seed"].astype(float)
    made = made._replace(runs=made.runs.assign(x=net, y=np.random.default_rng(0).permutation(12)[made.runs["seed"]]))
    assert Correlated("x", "y", 1, cluster="seed")(made).cases[0].seeds == 12
    apart, together = (Correlated("x", "y", 1, cluster=name)(made).cases[0].effects[0] for name in ("run", "seed"))
    assert together.high - together.low > 3 * (apart.high - apart.low)
    few = made._replace(runs=made.runs[made.runs["seed"] < 5])
    assert "fewer than 10" in Correlated("x", "y", 1, cluster="seed")(few).measured


def test_clocks_derived_from_others():
    runs = results_of(a=[400.0, None]).runs.assign(
        t_first_95=[300.0, None], t_mem_first_95=[100.0, 50], t_mem_first_99=[150.0, None], epochs_before=[1000, 2000],
        seconds_per_epoch=0.5,
    )  # fmt: skip
    assert list(TAU_95.sample(runs).time) == [3.0, np.inf]
    assert list(WAIT_99.sample(runs).time) == [250.0, np.inf]
    assert list(with_origins(FIRST_99).sample(runs).time) == [1400.0, 22_000.0]
    assert list(in_seconds(FIRST_99).sample(runs).time) == [200.0, 10_000.0]
    assert list(of_column("t_mem_first_99").sample(runs).grokked) == [True, False]
    assert str(FIRST_95) == "first crossing of 95 %"
    assert str(clock_at(0.855, "held", "train")) == "85.5 % train accuracy held for the window"
    with pytest.raises(NotRunError):
        Clock("absent").sample(runs)


def test_registered_columns_and_custom_rules():
    @column("double-epoch")
    def double(results):
        return results.runs.set_index("run")["epoch"] * 2

    try:
        made = results_of(a=FAST, b=SLOW)
        made = made._replace(runs=made.runs.assign(epoch=np.where(made.runs["arm"] == "a", 10, 20)))
        assert Less("double-epoch", "a", "b")(made).verdict == "agrees"
        assert ShareAtLeast("a", 0.8, column="double-epoch")(made).verdict == "agrees"
    finally:
        del registered["double-epoch"]
    judge = Custom(
        "thing", lambda results: Case(p_for=0.001, effects=(Effect("thing", 1.0, 0.5, 2.0),), seeds=len(results.runs))
    )
    ruling = judge(TIMES)
    assert ruling.verdict == "agrees" and "thing = 1 (0.5 to 2), p = 0.002" in ruling.measured
    assert settle([Case(blocked="no reason", p_for=0.0)]).verdict == "cannot be told"


def test_an_effect_names_its_arm_apart_from_its_numbers():
    assert str(Effect("share", 0.12, 0.03, 0.32, percent=True, of="q = 16")) == "q = 16: share = 12 % (3 % to 32 %)"
    ruling = ShareAtLeast("fast", 0.8)(TIMES)
    assert ruling.measured.startswith(f"{ruling.verdict}. fast: share = ")
    each = InEach({"slow": ShareAtLeast("slow", 0.8), "other": ShareAtLeast("slow", 0.8)})(TIMES)
    assert [case.effects[0].of for case in each.cases] == ["", "slow"]  # the first case is called like its arm
    ratios = Alike(("fast", "slow"))(TIMES).cases[0].effects
    assert [(effect.name, effect.of) for effect in ratios] == [("time ratio", "slow")]


def test_what_is_no_time_is_not_called_one():
    norms = TIMES._replace(runs=TIMES.runs.assign(norm=2.0))
    for kind in (Alike, Differ):
        assert kind(("fast", "slow"), clock=of_column("norm"))(norms).cases[0].effects[0].name == "ratio"


def test_a_case_about_a_range_has_the_range_as_data():
    made = results_of(a=FAST, b=SLOW)
    made = made._replace(runs=made.runs.assign(x=0.5))
    rule = WithinRange("x", "a", 1e-7, 0.6)
    assert [case.asked for case in rule.cases(made)] == [(1e-7, 0.6)]
    assert [case.asked for case in Conditional(rule, Reached("a")).cases(made)] == [(1e-7, 0.6)]
    assert Sooner("a", "b").cases(made)[0].asked is None


def test_a_diverged_run_counts_as_latest():
    results = results_of(a=FAST, b=[100, *SLOW[1:]])
    diverged = results.runs["t_first_99"].eq(100)
    runs = results.runs.assign(
        status=results.runs["status"].mask(diverged, "diverged"),
        epoch=results.runs["epoch"].mask(diverged, 50),
        t_first_99=results.runs["t_first_99"].mask(diverged),
    )
    _, b = paired(runs, ("a", "b"), FIRST_99)
    assert b.time[0] == 20_000 and not b.grokked[0]
    assert Sooner("a", "b")(results._replace(runs=runs)).verdict == "agrees"


def test_an_effect_within_the_margin_is_said_to_be_small():
    both = settle([Case(p_for=1e-4, p_against=1e-4, measured="dense: 13,700")])
    assert (
        both.verdict == "agrees" and both.measured.count("within the margin") == 1 and "dense: 13,700" in both.measured
    )
    assert "within the margin" not in settle([Case(p_for=1e-4, p_against=0.5)]).measured
    assert "within the margin" not in settle([Case(p_for=0.5, p_against=1e-4)]).measured


def test_a_verdict_that_so_few_runs_cannot_give_is_said_to_be_out_of_reach():
    shares = results_of(**{arm: [100] * 20 for arm in "abcd"})
    alone = ShareAtLeast("a", 0.8)(shares)
    assert alone.verdict == "agrees" and "too few" not in alone.measured
    together = InEach({arm: ShareAtLeast(arm, 0.8) for arm in "abcd"})(shares)
    assert together.verdict == "cannot be told"
    assert together.measured.count("20 runs are too few to agree among 4 cases, whatever they show") == 4
    few = ShareAtMost("a", 0.2)(results_of(a=[None] * 8))
    assert few.verdict == "cannot be told" and "8 runs are too few to agree, whatever they show" in few.measured
    none = ShareAtLeast("a", 0.8, column="missing")
    assert "too few" not in none(shares._replace(runs=shares.runs.assign(missing=np.nan))).measured  # none to judge


def test_a_case_that_only_the_correction_keeps_from_a_verdict_says_so():
    cases = [Case(p_for=0.01), Case(p_against=0.01), Case(p_for=0.3), Case(p_for=0.01, blocked="no reason")]
    lines = settle(cases).measured.splitlines()
    assert "by itself it would agree, but not among 4 cases (Holm)" in lines[0]
    assert "by itself it would disagree" in lines[1]
    assert not any("by itself" in line for line in lines[2:])
    assert "by itself" not in settle(cases[:1]).measured


def test_an_exponent_at_the_edge_of_the_grid_says_so():
    """Where times do not depend on β but for a trifle, the best exponent lies beyond those that are tried."""
    flat = PowerLaw("beta", tuple(f"b{i}" for i in range(len(LEVELS))))(levels(lambda x: 1000 - 30 * np.log(x))).cases[
        0
    ]
    assert flat.effects[0].name == "exponent, at the edge of the grid"
    steep = PowerLaw("beta", tuple(f"b{i}" for i in range(len(LEVELS))))(levels(lambda x: 500 + 100 / x)).cases[0]
    assert steep.effects[0].name == "exponent"


def test_a_correction_without_tests_is_not_named():
    assert settle([Case(verdict=None, blocked="why"), Case(blocked="why")]).test == ""
    assert settle([Case(test="a test"), Case(test="a test")]).test == "a test; Holm's correction over 2 cases"


def test_a_column_is_computed_once_for_the_cases_of_a_claim(monkeypatch):
    made, calls = results_of(a=[100] * 20, b=[200] * 20), []

    def compute(results):
        calls.append(len(results.runs))
        return pd.Series(1.5, results.runs["run"])

    monkeypatch.setitem(registered, "toy value", compute)
    InEach({arm: WithinRange("toy value", arm, 0.5, 2.5) for arm in ("a", "b")})(made)
    assert calls == [40]
    other = made._replace(runs=made.runs.head(20))
    assert WithinRange("toy value", "a", 0.5, 2.5)(other).verdict == "agrees" and calls == [40, 20]
    monkeypatch.setitem(registered, "toy value", lambda results: pd.Series(9.0, results.runs["run"]))
    assert WithinRange("toy value", "a", 0.5, 2.5)(made).verdict == "disagrees"  # another function of that name
