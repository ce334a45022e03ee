"""What stands beside a verdict: remarks, cases that the experiment cannot answer, and ranges that exclude nothing."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from tables import lognormal, results_of
from test_cards import row

from grokscope.cli.claims import print_rows
from grokscope.experiments.base import Claim, all_experiments, find_experiment
from grokscope.experiments.cards import card
from grokscope.experiments.claims_page import claims_page
from grokscope.experiments.columns import explained
from grokscope.experiments.counts import verdict_counts
from grokscope.experiments.frozen import rule_hash
from grokscope.experiments.ledger import Ledger, rulings
from grokscope.experiments.regimes import regime_of
from grokscope.experiments.rules import Conditional, Correlated, InEach, InRegimes, ShareAtLeast, Sooner, WithinRange
from grokscope.experiments.settle import judge
from grokscope.papers.grokking_tickets.table1_authors import STARTS
from grokscope.papers.inductive_bias.checkpoints import SHARED_SEEDS
from grokscope.store.results import load_results

RESULTS = Path(__file__).parents[2] / "results"

BOUNDS = {
    "accuracy": (0.0, 1.0),
    "test_seen": (0.0, 1.0),
    "early tickets that generalise": (0.0, 1.0),
    "gain": (-1.0, 1.0),
    "unit_norm_lost": (-1.0, 1.0),
    "equal_norm_lost": (-1.0, 1.0),
    "likeness": (0.0, 1.0),
    "stillest": (0.0, 1.0),
    "kernel_stillest": (0.0, 1.0),
    "kernel_start": (0.0, 1.0),
    "summed mass at the end": (0.0, 2.0),
    "mass of the best head at the end": (0.0, 0.5),
}
"""Between which ends accuracies, shares and the like can lie, by the beginning of the column's name."""
NEARLY = 0.9
"""Share of the possible values from which on a range asks next to nothing."""
TIMES = results_of(fast=lognormal(1000, seed=1), slow=lognormal(2000, seed=2), late=lognormal(4000, seed=3))
RULE = InEach({"one": Sooner("fast", "slow"), "two": Sooner("slow", "late"), "three": Sooner("late", "fast")})


def claim(rule=RULE, **more):
    return Claim(name="toy", statement="It is.", rule=rule, text="It is.", **more)


def ledger_of(own):
    experiment = replace(find_experiment("si-fig8"), claims=[own])
    return Ledger("full", [(experiment, TIMES)], []), rulings(experiment, TIMES)


def test_a_remark_is_shown_everywhere_and_changes_neither_hash_nor_verdict(capsys):
    said = claim(remark="It asks <nothing>.")
    ledger = Ledger("full", [(replace(find_experiment("si-fig8"), claims=[said]), TIMES)], [])
    _, rows = ledger_of(said)
    assert rows[0]["remark"] == "It asks <nothing>."
    print_rows(rows)
    assert "  note: It asks <nothing>.\n" in capsys.readouterr().out
    assert "<b>Note:</b> It asks &lt;nothing&gt;." in card(rows[0])
    about = {"device": "none", "scale": "full"}
    known = TIMES._replace(about=about, runs=TIMES.runs.assign(steps=1, step_seconds=0.0))
    assert "**Note:** It asks <nothing>." in claims_page(ledger._replace(found=[(ledger.found[0][0], known)]), rows)
    assert rule_hash(said) == rule_hash(claim())
    assert rows[0]["verdict"] == ledger_of(claim())[1][0]["verdict"] == "agrees in part"
    assert "Note:" not in card(row())


def test_a_case_that_cannot_be_answered_is_not_tested_and_leaves_the_others_as_they_were():
    plain, aside = judge(claim(), TIMES), judge(claim(untested={"three": "it has no clock"}), TIMES)
    assert [case.verdict for case in plain.cases] == ["agrees", "agrees", "disagrees"]
    assert [case.verdict for case in aside.cases] == ["agrees", "agrees", "not tested"]
    assert [case.p for case in aside.cases] == [plain.cases[0].p, plain.cases[1].p, None]
    assert aside.measured.splitlines()[2].startswith("three: not tested. ")
    assert "; it has no clock; the rule alone: disagrees; " in aside.measured
    assert aside.test == plain.test
    assert rule_hash(claim(untested={"": "why"})) == rule_hash(claim())


def test_what_is_set_aside_makes_no_claim_stronger():
    assert judge(claim(untested={"three": "why"}), TIMES).verdict == "agrees in part"
    assert judge(claim(untested={"": "why"}), TIMES).verdict == "not tested"
    assert judge(claim(untested={"": "why"}), TIMES).p is None
    assert judge(claim(untested={"one": "why", "two": "why"}), TIMES).verdict == "disagrees"


def test_how_little_a_verdict_says_stands_beside_it():
    """On the page and on the card: without opening the details."""
    few = claim(InEach({f"{at}": ShareAtLeast("fast", 0.95) for at in range(9)}))
    about = {"device": "none", "scale": "full"}
    known = TIMES._replace(about=about, runs=TIMES.runs.assign(steps=1, step_seconds=0.0))
    experiment = replace(find_experiment("si-fig8"), claims=[few])
    (found,) = rulings(experiment, known)
    said = "20 runs are too few to agree among 9 cases, whatever they show"
    assert [case["note"] for case in found["cases"]] == [said] * 9
    assert f"| cannot be told ({said}) |" in claims_page(Ledger("full", [(experiment, known)], []), [found])
    assert f"<em>{said}</em>" in card(found)
    assert not any(case["note"] for case in rulings(replace(experiment, claims=[claim()]), known)[0]["cases"])


def test_one_run_is_one():
    (case,) = ShareAtLeast("a", 0.5)(results_of(a=[100])).cases
    assert case.note == "1 run is too few to agree, whatever it shows"
    (case,) = Sooner("a", "b")(results_of(a=[100], b=[200])).cases
    assert case.blocked == "1 seed is fewer than 6"
    (case,) = Sooner("a", "b")(results_of(a=[100, 100], b=[200, 200])).cases
    assert case.blocked == "2 seeds are fewer than 6"


def test_a_share_of_no_runs_is_not_tested_and_says_why(monkeypatch):
    made = TIMES._replace(runs=TIMES.runs.assign(holds=np.where(TIMES.runs["arm"] == "fast", np.nan, 1.0)))
    rule = InEach({arm: ShareAtLeast(arm, 0.5, column="holds") for arm in ("fast", "slow")})
    ruling = rule(made)
    assert [case.verdict for case in ruling.cases] == ["not tested", "agrees"]
    assert ruling.measured.splitlines()[0] == "fast: not tested. no run to judge"
    assert not ruling.cases[0].effects
    monkeypatch.setitem(explained, "holds", lambda results, arm: f"{arm} asks nothing")
    assert rule(made).cases[0].blocked == "no run to judge: fast asks nothing"


def test_the_p_of_a_claim_is_that_of_the_case_that_decides():
    weak = results_of(a=[100] * 7, b=[110 + i for i in range(7)], c=[9000] * 7)
    both = InEach({"close": Sooner("a", "b"), "far": Sooner("b", "c")})(weak)
    assert both.verdict == "agrees" and both.p == max(case.p for case in both.cases)
    mixed = RULE(TIMES)
    assert mixed.verdict == "agrees in part"
    assert mixed.p == min(case.p for case in mixed.cases if case.verdict == "agrees")
    against = InEach({"x": Sooner("slow", "fast"), "y": Sooner("late", "slow")})(TIMES)
    assert against.verdict == "disagrees" and against.p == min(case.p for case in against.cases)


def ranges_of(rule, name=""):
    """The ranges within a rule, by case."""
    if isinstance(rule, InEach):
        return [found for case, one in rule.rules.items() for found in ranges_of(one, case)]
    if isinstance(rule, (InRegimes, Conditional)):
        return ranges_of(rule.rule, name)
    return [(name, rule)] if isinstance(rule, WithinRange) and isinstance(rule.column, str) else []


def asks_nothing(rule):
    ends = next((ends for name, ends in BOUNDS.items() if rule.column.startswith(name)), None)
    if ends is None:
        return False
    low, high = ends
    return min(rule.high, high) - max(rule.low, low) > NEARLY * (high - low)


def test_a_range_that_excludes_next_to_nothing_has_a_remark():
    found = {
        f"{experiment.name}/{own.name}": (
            own,
            sorted({case for case, rule in ranges_of(own.rule) if asks_nothing(rule)}),
        )
        for experiment in all_experiments().values()
        for own in experiment.claims
    }
    wide = {name: (own, cases) for name, (own, cases) in found.items() if cases}
    assert set(wide) == {
        "gt-table1/table",
        "gt-table1-authors/table",
        "ib-features/throughout",
        "ib-kernel-authors/throughout",
    }
    assert all(own.remark for own, _ in wide.values())
    for table in ("gt-table1/table", "gt-table1-authors/table"):
        own, cases = wide[table]
        assert cases == ["WD, 600"] and "“WD, 600”" in own.remark


def test_uniform_attention_passes_the_range_of_the_summed_mass():
    experiment = find_experiment("si-fig9-heads")
    (own,) = (one for one in experiment.claims if one.name == "summed-mass")
    (_, asked), *_ = ranges_of(own.rule)
    _, config = experiment.configs("full")[0]
    uniform = config.model.heads / config.task.shape.length
    assert uniform == pytest.approx(0.8) and asked.low < uniform < asked.high
    assert "0.8" in own.remark


def test_cases_of_table_1_are_set_aside_where_the_checkpoint_has_generalised():
    """Pruning cannot turn it into a generalising network; elsewhere no checkpoint has, and the case is judged."""
    results = load_results(RESULTS, "gt-table1-authors", "full")
    reached = results.runs.set_index("arm")["t_first_95"]
    claims = {own.name: own for own in find_experiment("gt-table1-authors").claims}
    for start, (checkpoint, epoch) in STARTS.items():
        generalised = (reached[checkpoint] <= epoch).mean()
        aside = {name: [case for case in claims[name].untested if case.endswith(start)] for name in claims}
        if generalised > 0:
            assert generalised > 0.9
            assert {name: len(cases) for name, cases in aside.items() if cases} == {"gains": 4, "both": 2}
        else:
            assert not any(aside.values())


def by_seed(rule):
    """A rule whose bootstrap draws whole seeds instead of runs."""
    if isinstance(rule, InEach):
        return InEach({case: by_seed(one) for case, one in rule.rules.items()})
    return replace(rule, cluster="seed") if isinstance(rule, Correlated) else replace(rule, rule=by_seed(rule.rule))


@pytest.mark.parametrize("name", ["ib-compressibility", "ib-compressibility-authors"])
def test_verdicts_are_the_same_where_whole_seeds_are_drawn_instead_of_runs(name):
    results = load_results(RESULTS, name, "full")
    said = [own for own in find_experiment(name).claims if SHARED_SEEDS in own.remark]
    assert said
    for own in said:
        runs, seeds = own.rule(results), by_seed(own.rule)(results)
        assert [case.verdict for case in seeds.cases] == [case.verdict for case in runs.cases]
        assert {case.seeds for case in seeds.cases} == {20}


@pytest.mark.parametrize(
    "name",
    [
        "causes-collapse/collapses-relatively",
        "causes-starvation/starves-relatively",
        "causes-starvation/amplified",
        "causes-structure-norm/attention-must-move",
        "si-critics-tickets/tickets",
        "race-B/sooner",
        "race-B/sooner-stable",
        "race-B/sooner-in-seconds",
    ],
)
def test_what_the_paper_does_not_say_is_not_counted_as_its_statement(name):
    """It speaks of the gradient of attention alone, changes nothing in mid-run, and does not say that every part helps; nobody
    compares with equally tuned AdamW."""
    experiment, _, wanted = name.partition("/")
    (own,) = (one for one in find_experiment(experiment).claims if one.name == wanted)
    assert own.of == "ours"


@pytest.mark.parametrize(
    ("claim", "column", "of"), [("variance", "logit_variance", np.log), ("entropy", "entropy", np.asarray)]
)
def test_what_logit_variance_and_entropy_do_in_the_first_quarter_of_the_wait(claim, column, of):
    """The rules compare the ends of the wait, and at t_grok attention has settled: what comes before stands beside them."""
    results = load_results(RESULTS, "si-conj-e1", "full")
    assert results.runs["t_c"].isna().mean() > 0.8
    changes = {}
    for _, run in results.runs.dropna(subset=["t_mem", "t_grok"]).iterrows():
        curve = results.curves[results.curves["run"] == run["run"]].sort_values("epoch")
        when = run["t_mem"] + np.array([0.0, 0.25]) * (run["t_grok"] - run["t_mem"])
        start, quarter = of(np.interp(when, curve["epoch"], curve[column]))
        changes.setdefault(run["arm"], []).append(quarter - start)
    tests = {arm: ttest_1samp(own, 0.0) for arm, own in changes.items()}
    moved = {arm: np.sign(found.statistic) for arm, found in tests.items() if found.pvalue < 0.05}
    if claim == "variance":
        assert moved == dict.fromkeys(("q = 1", "q = 4", "q = 16", "q = 32"), -1.0)
    else:
        assert {arm for arm, sign in moved.items() if sign > 0} == {"q = 1"}
    (own,) = (one for one in find_experiment("si-conj-e1").claims if one.name == claim)
    assert "quarter into the wait" in own.remark


def test_the_fall_of_d_is_set_aside_where_it_needs_no_prior():
    runs = load_results(RESULTS, "si-fig3", "full").runs
    fall = runs["t_fall"].groupby(runs["arm"]).median()
    (own,) = (one for one in find_experiment("si-fig3").claims if one.name == "effective-strength")
    needless = {where for where in own.rule.regimes if fall[f"{where}, no prior"] < 1.5 * fall[f"{where}, β = 0.003"]}
    assert needless == set(own.untested)  # in the operand vocabulary D never falls so far without a prior: NaN
    strong = [fall[f"{where}, β = {beta}"] for where in own.rule.regimes for beta in (0.05, 0.1, 0.3, 1, 3)]
    assert max(strong) <= 50 and "50 epochs" in own.remark


def test_permutations_with_one_head_are_set_aside():
    """One head with half of its weight on each operand cannot tell (a, b) from (b, a): the oracle is no solution."""
    experiment = find_experiment("si-fig10")
    arms = {arm for arm, config in experiment.configs("full", 1) if config.task.kind == "permutation"}
    groups = {arm.rpartition(", ")[0] for arm in arms}
    assert len(groups) == 6
    ruled = {own.name: judge(own, load_results(RESULTS, "si-fig10", "full")).cases for own in experiment.claims}
    for cases in ruled.values():
        assert {case.verdict for case in cases if case.name in groups} == {"not tested"}
        assert "not tested" not in {case.verdict for case in cases if case.name not in groups}


@pytest.mark.parametrize("experiment", all_experiments().values(), ids=lambda one: one.name)
def test_every_experiment_says_what_is_not_the_authors(experiment):
    assert experiment.differs
    for own in experiment.claims:
        assert not own.remark or own.remark.endswith(".")
        assert all(reason and not reason.endswith(".") for reason in own.untested.values())


@pytest.mark.parametrize("name", [name for name in all_experiments() if name.startswith("si-")])
def test_who_compares_its_horizon_with_the_papers_names_all_that_it_has(name):
    experiment = find_experiment(name)
    if "epochs instead of" in experiment.differs:
        horizons = {config.epochs for _, config in experiment.configs("full")}
        assert [epochs for epochs in horizons if f"{epochs:,}" not in experiment.differs] == []


@pytest.mark.parametrize("name", [name for name in all_experiments() if name.startswith("si-")])
def test_what_differs_from_table_g2_is_what_the_runs_have(name):
    """Of horizons and of shares of the pairs that are trained on (Table G.2: 10,000 epochs, 0.3)."""
    experiment = find_experiment(name)
    configs = [config for _, config in experiment.configs("full")]
    horizons = {config.epochs for config in configs} | {10_000}
    named = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) epochs", experiment.differs)]
    assert [epochs for epochs in named if epochs not in horizons] == []
    assert {config.precision for config in configs} == {"tf32"} and "TF32" in experiment.differs
    if "the number of examples" not in experiment.differs:
        shares = {config.task.train_fraction for config in configs} - {0.3}
        assert [share for share in shares if f"{share:g} " not in experiment.differs] == []


@pytest.mark.parametrize(
    ("case", "regime"),
    [
        ("q = 16, no prior", "q = 16"),
        ("constant distractors", "constant distractors"),
        ("operand vocabulary, S5, d = 128", "operand vocabulary"),
        ("operands, attention × 3", "operands"),
        ("WD, 600", ""),
        ("", ""),
    ],
)
def test_the_regime_of_a_case(case, regime):
    assert regime_of(case) == regime


def test_every_case_has_its_regime_in_json():
    made = results_of(**{"q = 16, a": [100] * 20, "q = 16, b": [200] * 20, "c": [100] * 20, "d": [200] * 20})
    own = claim(InEach({"q = 16": Sooner("q = 16, a", "q = 16, b"), "other": Sooner("c", "d")}))
    (found,) = rulings(replace(find_experiment("si-fig8"), claims=[own]), made)
    assert [case["regime"] for case in found["cases"]] == ["q = 16", None]


def test_verdicts_are_counted_in_words():
    rows = [row(verdict=verdict) for verdict in ("agrees", "agrees", "disagrees", "agrees in part", "agrees in part")]
    assert verdict_counts(rows) == "5 claims: 2 agree, 2 agree in part, 1 disagrees."
