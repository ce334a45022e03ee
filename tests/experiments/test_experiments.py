"""Experiments: well formed, run end to end at toy size, and judged as their rules say."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tables import results_of, runs_of

from grokscope.analysis.plateau_features import METRICS
from grokscope.analysis.shares import p_share_above
from grokscope.analysis.survival import holm
from grokscope.cli.listing import column_meanings
from grokscope.config import Log
from grokscope.config.references import in_stages
from grokscope.errors import ConfigError
from grokscope.experiments import all_experiments, base, find_experiment
from grokscope.experiments.base import Claim, crossed, matching_experiments
from grokscope.experiments.claims_page import claims_page
from grokscope.experiments.clocks import NotRunError
from grokscope.experiments.collect import STORED, curves_from, priced, run_rows, thin, training_totals
from grokscope.experiments.drawing import draw, drawn_pictures
from grokscope.experiments.frozen import rule_hashes
from grokscope.experiments.ledger import fits, load_ledger, rulings
from grokscope.experiments.regimes import REGIMES, by_regime, in_regime
from grokscope.experiments.rules import (
    ALPHA,
    Conditional,
    Custom,
    InEach,
    InRegimes,
    NotTested,
    Rule,
    ShareAtLeast,
    ShareAtMost,
    Sooner,
)
from grokscope.launch.local import train_all
from grokscope.store.results import Results, load_results, save_results


def test_experiments_follow_the_papers_and_their_figures():
    names = list(all_experiments())
    wanted = ["si-fig2", "si-fig10", "si-dial", "gt-fig2a", "gt-fig2b", "gt-fig13", "gt-table1", "ib-placement"]
    assert [name for name in names if name in wanted] == wanted


@pytest.mark.parametrize("name", list(all_experiments()))
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_experiment_is_well_formed(name, scale):
    experiment = find_experiment(name)
    configs = experiment.configs(scale)
    arms = experiment.arms_at(scale)
    assert len({config.id for _, config in configs}) == len(configs)
    assert set(arms) <= set(experiment.arms)
    assert {arm for arm, _ in configs} == set(arms)
    assert set(experiment.seeds_of) <= set(experiment.arms)
    counts = {arm: {c.seed for own, c in configs if own == arm} for arm in arms}
    first = experiment.first_seed
    assert all(own == {first + at for at in range(experiment.seeds_at(scale, arm))} for arm, own in counts.items())
    if scale == "full" and name.startswith("si-"):
        assert min(map(len, counts.values())) >= 20 and all(c.epochs * c.steps_per_epoch >= 10_000 for _, c in configs)
    for claim in experiment.claims:
        assert isinstance(claim.rule, Rule)
        assert claim.statement.endswith(".") and claim.text.endswith("."), claim.name
        assert experiment.seeds >= 20 or isinstance(claim.rule, NotTested) or "seeds" in experiment.differs, claim.name
    assert len({claim.name for claim in experiment.claims}) == len(experiment.claims)
    assert all(any(arm.startswith(f"{part}, ") for arm in experiment.arms) for part in experiment.parts)


OUT_OF_REACH = {
    "causes-starvation": {"starves", "starves-relatively"},
    "causes-structure-norm": {"attention-must-move"},
}
"""Claims that could only disagree at their seeds, run before this was checked; the ledger says so at each case."""


def shares_of(rule, regimes=1):
    """The rules about shares within a rule, each as often as there are cases."""
    if isinstance(rule, InEach):
        return [own for one in rule.rules.values() for own in shares_of(one, regimes)]
    if isinstance(rule, InRegimes):
        return shares_of(rule.rule, len(rule.regimes))
    if isinstance(rule, Conditional):
        return shares_of(rule.rule, regimes)
    return [rule] * regimes if isinstance(rule, ShareAtLeast) else []


def test_every_claim_about_shares_has_seeds_enough_to_agree():
    short = {}
    for experiment in all_experiments().values():
        for claim in experiment.claims:
            shares = shares_of(claim.rule)
            asked = [1 - one.share if isinstance(one, ShareAtMost) else one.share for one in shares]
            least = [2 * p_share_above(experiment.seeds, experiment.seeds, share) for share in asked]
            if shares and not (holm(np.clip(least, 0, 1)) < ALPHA).any():
                short.setdefault(experiment.name, set()).add(claim.name)
    assert short == OUT_OF_REACH


def test_quick_is_small_enough_for_two_cores():
    """These are the optimizer steps if no run ended early; about half of them are taken."""
    configs = {c.id: c for e in all_experiments().values() if e.name.startswith("si-") for _, c in e.configs("quick")}
    assert sum(config.epochs * config.steps_per_epoch for config in configs.values()) <= 450_000


def test_experiments_share_their_runs():
    names = ("si-fig1", "si-fig5", "si-critics-bump", "si-critics-precedence", "si-dial")
    ids = {name: {config.id for _, config in find_experiment(name).configs("full")} for name in names}
    assert ids["si-critics-precedence"] < ids["si-critics-bump"] < ids["si-dial"]
    assert ids["si-fig1"] < ids["si-dial"]
    assert ids["si-fig5"] < ids["si-dial"]


def test_a_run_is_shared_only_by_experiments_that_watch_and_stop_it_alike():
    """Otherwise what one finds would depend on which other was run before it in the same folder."""
    wishes = {}
    for experiment in all_experiments().values():
        for scale in ("quick", "full"):
            for _, config in experiment.configs(scale):
                assert wishes.setdefault(config.id, config) == config


def test_where_few_runs_reach_the_shares_come_before_the_ratio():
    claim = Claim(name="sooner", statement="It is.", rule=Sooner("a", "b"), text="It is.")
    experiment = replace(find_experiment("si-fig8"), claims=[claim])

    def effects(**times):
        (row,) = rulings(experiment, results_of(**times))
        return [effect["name"] for effect in row["cases"][0]["effects"]]

    ratio, shares = effects(a=[100] * 20, b=[200] * 20)
    assert ratio == "time ratio" and shares.startswith("difference of shares")
    assert effects(a=[100] * 20, b=[None] * 20) == [shares, ratio]  # the ratio is not known
    assert effects(a=[100] * 20, b=[200] + [None] * 19) == [shares, ratio]  # one pair bounds nothing


def test_seeds_that_are_not_run_yet_are_said():
    claim = Claim(name="sooner", statement="It is.", rule=Sooner("a", "b"), text="It is.")
    base = replace(find_experiment("si-fig8").base, epochs=20_000)
    experiment = replace(find_experiment("si-fig8"), base=base, claims=[claim], arms={"a": {}, "b": {}}, seeds_of={})
    for count, said in ((20, False), (12, True)):
        (row,) = rulings(experiment, results_of(a=[100] * count, b=[200] * count))
        assert row["measured"].endswith("judged with 12 of 20 seeds: the others are not run yet") is said
    more = replace(experiment, seeds_of={"b": 24})
    (row,) = rulings(more, results_of(a=[100] * 20, b=[200] * 20))
    assert row["measured"].endswith("judged with 20 of 24 seeds: the others are not run yet")
    (row,) = rulings(replace(experiment, seeds=24, seeds_of={"b": 20}), results_of(a=[100] * 24, b=[200] * 20))
    assert "not run yet" not in row["measured"]


def test_epochs_that_are_not_run_yet_are_said():
    claim = Claim(name="sooner", statement="It is.", rule=Sooner("a", "b"), text="It is.")
    plain = replace(find_experiment("si-fig8"), claims=[claim], seeds_of={})
    plain = replace(plain, base=replace(plain.base, epochs=9000))
    made = results_of(a=[100] * 20, b=[200] * 20)
    made = made._replace(runs=made.runs.assign(epochs=9000))
    (row,) = rulings(replace(plain, arms={"a": {}, "b": {}}), made)
    assert "not run yet" not in row["measured"]
    (row,) = rulings(replace(plain, arms={"a": {}, "b": {"epochs": 20_000}}), made)
    assert row["measured"].endswith("judged after 9,000 of 20,000 epochs: the others are not run yet")


def test_arms_may_have_more_seeds_and_later_ones():
    plain = find_experiment("si-fig9-heads")
    some = replace(plain, arms={arm: plain.arms[arm] for arm in ("q = 4, no prior", "q = 4, oracle")}, first_seed=20)
    seeds = {arm: [c.seed for own, c in some.configs("full") if own == arm] for arm in some.arms}
    assert seeds == {"q = 4, no prior": list(range(20, 60)), "q = 4, oracle": list(range(20, 40))}
    assert {c.seed for _, c in some.configs("full", seeds=3)} == {20, 21, 22}


def test_a_claim_whose_arms_were_not_run_is_not_tested():
    claims = [
        Claim(name=name, statement="It is.", rule=rule, text="It is.")
        for name, rule in (("there", Sooner("a", "b")), ("absent", Sooner("a", "c")), ("custom", Custom("x", absent)))
    ]
    experiment = replace(find_experiment("si-fig8"), claims=claims)
    rows = rulings(experiment, results_of(a=[100] * 20, b=[200] * 20))
    assert [row["verdict"] for row in rows] == ["agrees", "not tested", "not tested"]
    assert rows[1]["measured"] == "not tested. not run: c"


def absent(results):
    raise NotRunError("probe masks")


def test_experiments_are_found_by_pattern():
    names = [experiment.name for experiment in matching_experiments(["si-critics-b*", "si-fig3", "si-fig3"])]
    assert names == ["si-critics-bump", "si-fig3"]
    with pytest.raises(ConfigError, match="si-fig3"):
        matching_experiments(["si-fgi3"])


def test_regimes_are_crossed_with_arms_and_references():
    arms = by_regime({"dense": {"prior.beta": 0.0}, "taught": {"prior.teacher": "@dense", "ticket.run": "@dense"}})
    assert list(arms) == [f"{regime}, {arm}" for regime in REGIMES for arm in ("dense", "taught")]
    assert arms["q = 16, taught"] == {
        "task.alphabet": 16,
        "prior.teacher": "@q = 16, dense",
        "ticket.run": "@q = 16, dense",
    }
    table = pd.DataFrame({"arm": ["q = 16, dense", "operand vocabulary, dense"], "x": [1, 2]})
    assert in_regime(table, "q = 16").to_dict("list") == {"arm": ["dense"], "x": [1]}


def test_tickets_are_trained_after_the_runs_they_come_from():
    experiment = find_experiment("si-critics-tickets")
    asked = experiment.configs("full", 2)
    first, second = in_stages([config for _, config in asked])
    arm_of = {config.id: arm for arm, config in asked}
    assert {arm_of[config.id].split(", ")[-1] for config in first} == {"dense", "oracle"}
    dense = {(arm_of[c.id].split(", ")[0], c.seed): c.id for c in first if c.prior.beta == 0}
    for config in second:
        regime = arm_of[config.id].split(", ")[0]
        named = {getattr(config.ticket, "run", ""), config.prior.teacher} - {""}
        assert named == {dense[regime, config.seed]}


def test_thinning_keeps_the_ends_and_the_shape():
    metrics = pd.DataFrame({"epoch": np.arange(0, 10_000, 25), "train_loss": 1.0})
    thinned = thin(metrics)
    assert len(thinned) <= 92
    assert (thinned["epoch"].iloc[0], thinned["epoch"].iloc[-1]) == (0, 9975)
    closer = thin(metrics, t_grok=8000)["epoch"]
    assert closer[(closer >= 4000) & (closer <= 8000)].diff().max() <= 175


def test_thinned_numbers_are_good_to_half_a_thousandth():
    values = np.concatenate([np.geomspace(1e-30, 1e30, 500), [0.0, np.inf, np.nan, -1 / 3]])
    thinned = thin(pd.DataFrame({"epoch": np.arange(len(values)), "D": values}).iloc[-60:])["D"].to_numpy()
    np.testing.assert_allclose(thinned, values[-60:], rtol=2**-11)
    assert thinned.dtype == np.float32
    assert not (thinned[np.isfinite(thinned)].view(np.uint32) & 0x1FFF).any()


def test_a_shared_run_is_paid_once():
    table = pd.DataFrame({"run": ["a", "b", "a"], "steps": [100, 20, 100], "step_seconds": [1.0, 0.5, 1.0]})
    assert training_totals(table) == {"runs": 2, "run_steps": 120, "seconds": 1.5}


def test_priced_runs_have_seconds_of_their_own():
    table = priced(runs_of(a=[100, None], b=[50]), {"a": 0.5, "b": 2.0})
    assert list(table["seconds_per_epoch"]) == [0.5, 0.5, 2.0]


def test_crossed_names_every_combination():
    arms = crossed({"a": {"x": 1}, "b": {"x": 2}}, {"c": {"y": 3}})
    assert arms == {"a, c": {"x": 1, "y": 3}, "b, c": {"x": 2, "y": 3}}


def toy(name, tiny, **settings):
    """An experiment as it is, on a run of a second."""
    return replace(find_experiment(name), base=replace(tiny, epochs=60, log=Log(every=5)), seeds=2, **settings)


def collected(experiment, folder):
    arms, configs = zip(*experiment.configs("full"), strict=True)
    stored = {run.id: run for stage in in_stages(configs) for run in train_all(stage, runs=folder / "runs")}
    table, curves = run_rows([stored[config.id] for config in configs], arms)
    about = {"experiment": experiment.name, "scale": "full", "device": "cpu", "rules": rule_hashes(experiment)}
    return Results(about, table, curves)


def test_settings_that_differ_from_the_default_are_stored(tiny, tmp_path):
    """Also one that all runs share: the sum over four heads must not become that of one."""
    four = replace(tiny, model=replace(tiny.model, heads=4), epochs=2)
    runs = train_all([four, replace(four, seed=1)], runs=tmp_path)
    table, curves = run_rows(runs, ["four", "four"], curves=("entropy",))
    assert list(table["model.heads"]) == [4, 4]
    assert "optim.eps" not in table  # the default
    assert {"epoch", "test_accuracy", "D", "entropy", "run"} <= set(curves) and "grad_M" not in curves
    assert "grad_M" in run_rows(runs, ["four", "four"])[1]


def test_the_curves_of_an_experiment_are_known_metrics():
    known = {column for table in column_meanings().values() for column in table}
    for name, experiment in all_experiments().items():
        assert set(experiment.curves) <= known - set(STORED) or set(experiment.curves) == set(METRICS), name


def test_end_to_end_at_toy_size(tiny, tmp_path, monkeypatch):
    """Train, collect, store, judge and draw; the ledger rebuilt from disk equals the first."""
    rules = {"few": ShareAtMost("q = 16", 0.5), "none": NotTested("no data")}
    claims = [Claim(name=name, statement=f"It is {name}.", rule=rule, text="It is.") for name, rule in rules.items()]
    experiment = toy("si-fig1", tiny, claims=claims)
    monkeypatch.setitem(base._experiments, "si-fig1", experiment)
    kept = collected(experiment, tmp_path)
    folder = save_results(tmp_path / "results", kept)
    again = load_results(tmp_path / "results", "si-fig1", "full")
    first, second = rulings(experiment, kept), rulings(experiment, again)
    assert json.loads(json.dumps(first)) == json.loads(json.dumps(second))
    assert [row["claim"] for row in first] == ["few", "none"]
    assert first[0]["rule_code"].startswith("ShareAtMost(arm='q = 16', ")
    assert [row["verdict"] for row in first] == ["cannot be told", "not tested"]
    assert [run.seed for run in curves_from(again)] == [0, 1] * 3
    stems = draw([(experiment, again, folder)]).paths
    assert all(stem.with_suffix(suffix).stat().st_size > 1000 for stem in stems for suffix in (".svg", ".png"))
    ledger = load_ledger(tmp_path / "results", "full")
    assert len(ledger.rows()) == 2
    page = claims_page(ledger, ledger.rows())
    assert "### si-fig1/few: cannot be told" in page and "### si-fig1/none: not tested" in page
    assert "| structural-inference | the paper's | 2 | 0 | 0 | 0 | 1 | 1 |" in page
    steps = int(kept.runs["epoch"].sum())
    assert f"1 experiment at full size: 6 runs, {steps:,} optimizer steps in " in page
    assert load_results(tmp_path / "results", "si-fig2", "full") is None
    # a claim whose rule was changed after the runs is not judged by them
    changed = [replace(claims[0], rule=ShareAtMost("q = 16", 0.4)), claims[1]]
    monkeypatch.setitem(base._experiments, "si-fig1", replace(experiment, claims=changed))
    row, _ = load_ledger(tmp_path / "results", "full").rows()
    assert row["verdict"] == "not tested" and row["stale"] and "to be run again" in row["measured"]
    # results of other arms are left out, and named
    save_results(tmp_path / "results", kept._replace(runs=kept.runs.assign(arm="q = 3")))
    stale = load_ledger(tmp_path / "results", "full")
    assert (stale.found, stale.stale) == ([], ["si-fig1"])


def test_tickets_end_to_end_count_what_they_cost(tiny, tmp_path):
    experiment = toy("si-critics-tickets", tiny)
    experiment = replace(experiment, arms={arm: s for arm, s in experiment.arms.items() if arm.startswith("q = 16")})
    kept = collected(experiment, tmp_path)
    runs = kept.runs.set_index(["arm", "seed"])
    for (arm, seed), row in runs.iterrows():
        dense = runs.loc[("q = 16, dense", seed), "epoch"]
        paid = 0 if arm in ("q = 16, dense", "q = 16, oracle") else dense
        assert row["epochs_before"] == paid
    dense = Claim(name="dense", statement="It is.", rule=ShareAtMost("q = 16, dense", 0.5), text="It is.")
    experiment = replace(experiment, claims=[dense])
    assert not fits(experiment, kept)  # of another rule
    kept.about["rules"] = rule_hashes(experiment)
    assert fits(experiment, kept)
    assert [row["claim"] for row in rulings(experiment, kept)] == ["dense"]
    assert [drawn.file for drawn in drawn_pictures(experiment, kept)] == ["accuracy-q-16", "times-q-16"]
