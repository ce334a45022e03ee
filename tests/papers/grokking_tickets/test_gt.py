"""The columns and rules of the grokking-tickets experiments, on tables made by hand: each with an answer that it must give."""

import numpy as np
import pandas as pd
import pytest
from tables import lognormal, results_of

from grokscope.experiments.base import all_experiments, find_experiment, matching_experiments
from grokscope.experiments.clocks import NotRunError
from grokscope.experiments.columns import registered, values
from grokscope.experiments.rules import Conditional, Custom, InEach, NotTested
from grokscope.papers.grokking_tickets import columns, table1, table1_authors
from grokscope.store.results import Results

OURS = {name: own for name, own in all_experiments().items() if own.paper == "grokking-tickets"}
NEVER = None


def claim(experiment, name):
    return next(own for own in find_experiment(experiment).claims if own.name == name)


def named(made, **names):
    """Results whose arms have names that keywords cannot have."""
    return made._replace(runs=made.runs.assign(arm=made.runs["arm"].replace(names)))


# ── what every claim must have ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", OURS)
def test_every_claim_has_a_rule_and_says_it_in_words(name):
    for own in OURS[name].claims:
        assert not isinstance(own.rule, str), own.name
        assert len(own.text) > 20, own.name
    assert OURS[name].differs
    assert (OURS[name].settings == "authors'") == name.endswith("-authors")


@pytest.mark.parametrize("name", [name for name in OURS if name != "gt-fig19"])
def test_arms_that_are_compared_have_twenty_seeds(name):
    assert OURS[name].seeds >= 20
    if name in ("gt-fig3", "gt-fig7", "gt-fig16"):  # a share near a threshold is claimed
        assert OURS[name].seeds >= 40


def arms_of(rule):
    """The arms that a rule names."""
    if isinstance(rule, Conditional):
        return arms_of(rule.rule) | {rule.given.arm}
    if isinstance(rule, InEach):
        return set().union(*map(arms_of, rule.rules.values()))
    if hasattr(rule, "regimes"):
        return {f"{regime}, {arm}" for regime in rule.regimes for arm in arms_of(rule.rule)}
    if hasattr(rule, "families"):
        return {arm for arms in rule.families.values() for arm in arms}
    single = {getattr(rule, field) for field in ("arm", "other") if isinstance(getattr(rule, field, None), str)}
    if type(rule).__name__ == "Correlated":
        single = set()
    return single | set(getattr(rule, "arms", None) or ())


@pytest.mark.parametrize("name", OURS)
def test_rules_name_arms_that_exist(name):
    experiment = OURS[name]
    for own in experiment.claims:
        assert arms_of(own.rule) <= set(experiment.arms), own.name


def test_figures_by_other_names():
    assert [e.name for e in matching_experiments(["gt-fig15"])] == ["gt-fig2b", "gt-fig2b-authors"]
    assert {e.name for e in matching_experiments(["gt-fig2"])} >= {
        "gt-fig2a",
        "gt-fig2a-authors",
        "gt-fig2b",
        "gt-fig2c",
    }
    assert {e.name for e in matching_experiments(["gt-fig9"])} >= {"gt-fig2a", "gt-fig2b"}


# ── a ticket comes from a network that generalised ───────────────────────────────────────────────────────────────


def test_a_dense_network_that_never_generalised_does_not_hide_the_gain():
    """As measured for the product: the ticket of a network that did not generalise is no grokking ticket."""
    slow, fast = lognormal(14_000, seed=1), lognormal(300, seed=2)
    for seed in (0, 1, 2):
        slow[seed] = fast[seed] = NEVER
    made = named(
        results_of(column="t_first_95", dense=slow, ticket=fast), dense="product, dense", ticket="product, ticket"
    )
    ruling = claim("gt-fig2c", "sooner").rule(made)
    verdicts = {case.name: case.verdict for case in ruling.cases}
    assert verdicts["product"] == "agrees" and set(verdicts.values()) == {"agrees", "not tested"}
    (case,) = (case for case in ruling.cases if case.name == "product")
    assert "17/20 runs" in case.measured and case.seeds == 17


def test_text_is_not_tested():
    own = claim("gt-fig19", "sooner").rule
    assert isinstance(own, NotTested)
    assert own(results_of(dense=[100], ticket=[100])).verdict == "not tested"


@pytest.mark.parametrize(("slope", "verdict"), [(1.0, "agrees"), (-1.0, "disagrees")])
def test_memorising_takes_longer_the_more_is_pruned(slope, verdict):
    """Tickets of one seed are one cluster; those that never memorise come last."""
    rates = (0.1, 0.3, 0.5, 0.7, 0.9)
    times = {f"r{place}": lognormal(1000 * np.exp(slope * rate), seed=place) for place, rate in enumerate(rates)}
    times["r4" if slope > 0 else "r0"][3] = NEVER
    made = results_of(column="t_mem_first_95", **times)
    rate = made.runs["arm"].map({f"r{place}": rate for place, rate in enumerate(rates)})
    made = made._replace(runs=made.runs.assign(**{"arm": "rate " + rate.astype(str), "ticket.rate": rate}))
    ruling = claim("gt-fig3", "memorisation").rule(made)
    (case,) = (case for case in ruling.cases if case.verdict != "not tested")
    assert (case.verdict, case.seeds) == (verdict, 20) and "100 points" in case.measured


# ── Table 1 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def made_table(accuracy, arms, epochs=(0, 600, 1000, 1400, 2000), seeds=20, **extra):
    """Results whose test accuracy at an epoch is accuracy(arm, epoch) with a small spread over seeds."""
    made = results_of(**{f"arm{place}": [100.0] * seeds for place in range(len(arms))})
    made = named(made, **{f"arm{place}": arm for place, arm in enumerate(arms)})
    noise = np.random.default_rng(0).normal(0, 0.002, (len(made.runs), len(epochs)))
    curves = pd.DataFrame(
        {"run": run["run"], "epoch": epoch, "test_accuracy": accuracy(run["arm"], epoch) + noise[row, at]}
        for row, run in enumerate(made.runs.to_dict("records"))
        for at, epoch in enumerate(epochs)
    )
    return made._replace(curves=curves, runs=made.runs.assign(**extra))


def reported(row, epoch):
    return dict(zip(columns.EPOCHS, table1.REPORTED[row], strict=True))[epoch][0]


def as_reported(arm, epoch):
    row = arm.partition(", ")[0]
    return reported(row, epoch) if epoch else 0.2


@pytest.mark.parametrize("experiment", ["gt-table1", "gt-table1-authors"])
def test_the_table_is_met_cell_by_cell(experiment):
    names = {row: row if experiment == "gt-table1" else f"{row}, {table1_authors.LITERAL}" for row in table1.REPORTED}
    met = claim(experiment, "table").rule(made_table(as_reported, names.values()))
    assert met.verdict == "agrees" and len(met.cases) == 12
    other = claim(experiment, "table").rule(
        made_table(lambda arm, epoch: 0.05 if arm == names["EP w/o WD"] else as_reported(arm, epoch), names.values())
    )
    assert other.verdict == "agrees in part"
    assert [case.verdict for case in other.cases if case.name.startswith("EP w/o WD")] == ["disagrees"] * 4


@pytest.mark.parametrize(("end", "verdict"), [(0.97, "agrees"), (0.3, "disagrees"), (0.9, "cannot be told")])
def test_pruning_alone(end, verdict):
    made = made_table(lambda arm, epoch: end, ["EP w/o WD"])
    assert claim("gt-table1", "pruning-alone").rule(made).verdict == verdict


def test_gains_are_over_the_unpruned_network_on_the_same_test_pairs():
    """With another's split the unpruned network already knows half of them: 0.6 at the end is no gain from 0.6."""
    where = {split: f"{split}, lr 0.001, epoch 1000" for split in ("own split", "another's split")}
    arms = [f"{method}, {own}" for method in ("WD", "EP w/o WD") for own in where.values()]

    def accuracy(arm, epoch):
        start = 0.6 if "another" in arm else 0.1
        return start if arm.startswith("WD") else 0.6

    made = made_table(accuracy, arms)
    gains = values(made, "gain").groupby(made.runs["arm"]).mean()
    assert gains[f"EP w/o WD, {where['own split']}"] == pytest.approx(0.5, abs=0.01)
    assert gains["EP w/o WD, " + where["another's split"]] == pytest.approx(0, abs=0.01)
    ruling = claim("gt-table1-authors", "gains").rule(made)
    told = {case.name: case.verdict for case in ruling.cases if case.verdict != "not tested"}
    assert sorted(told.values()) == ["agrees", "disagrees"]


def test_what_the_critic_says_of_the_split():
    start = "lr 0.01, epoch 400"
    arms = [f"EP w/o WD, {split}, {start}" for split in ("own split", "another's split")]
    leaked = made_table(lambda arm, epoch: 0.9 if "another" in arm else 0.2, arms)
    assert claim("gt-table1-authors", "split").rule(leaked).verdict == "agrees"
    swapped = made_table(lambda arm, epoch: 0.2 if "another" in arm else 0.9, arms)
    assert claim("gt-table1-authors", "split").rule(swapped).verdict == "disagrees"


# ── structure ────────────────────────────────────────────────────────────────────────────────────────────────────


def moved(distance, runs, layer="all"):
    """Six intervals after memorisation; the third gains accuracy and has the distance `distance`, the others about 0.5."""
    rows = [
        {
            "run": run,
            "arm": "dense",
            "layer": layer,
            "previous": 100 * i,
            "epoch": 100 + 100 * i,
            "distance": distance if i == 3 else 0.5 - 0.01 * i,
            "accuracy_change": 0.8 if i == 3 else 0.01 * i,
        }
        for run in runs
        for i in range(7)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("distance", "verdict"), [(0.9, "agrees"), (0.1, "disagrees")])
@pytest.mark.parametrize("experiment", ["gt-fig7", "gt-fig2d", "gt-fig2e"])
def test_structure_moves_with_accuracy(experiment, distance, verdict):
    made = results_of(column="t_mem_first_95", dense=[50.0] * 30)
    made = made._replace(probes={"jaccard": moved(distance, made.runs["run"])})
    ruling = claim(experiment, "together").rule(made)
    assert {case.name: case.verdict for case in ruling.cases if case.seeds}["all"] == verdict


def test_layers_are_judged_one_by_one():
    made = results_of(column="t_mem_first_95", dense=[50.0] * 30)
    tables = [moved(0.9, made.runs["run"], "W_E"), moved(0.1, made.runs["run"], "W_in")]
    made = made._replace(probes={"jaccard": pd.concat(tables)})
    verdicts = {case.name: case.verdict for case in claim("gt-fig7", "together").rule(made).cases}
    assert (verdicts["W_E"], verdicts["W_in"]) == ("agrees", "disagrees")


def test_intervals_before_memorisation_and_runs_without_a_transition_do_not_count():
    made = results_of(column="t_mem_first_95", dense=[350.0, 50.0, 50.0])
    table = moved(0.9, made.runs["run"])
    table.loc[table["run"] == "dense-1", "accuracy_change"] = 0.01
    flags = values(made._replace(probes={"jaccard": table}), "together, all")
    assert flags.isna().tolist() == [True, True, False] and flags[2] == 1.0


def test_the_rank_correlation_of_a_run():
    made = results_of(column="t_mem_first_95", dense=[50.0])
    table = moved(0.9, made.runs["run"]).assign(distance=lambda t: t["accuracy_change"] ** 2)
    assert values(made._replace(probes={"jaccard": table}), "rank correlation, all").tolist() == [1.0]


def test_a_probe_that_is_missing_or_empty_is_not_tested():
    made = results_of(column="t_mem_first_95", dense=[50.0] * 3)
    for probes in ({}, {"jaccard": pd.DataFrame({"run": [], "arm": []})}):
        with pytest.raises(NotRunError, match="probe jaccard"):
            values(made._replace(probes=probes), "together, all")
        assert claim("gt-fig7", "together").rule(made._replace(probes=probes)).verdict == "not tested"


@pytest.mark.parametrize(("excess", "verdict"), [(-0.02, "agrees"), (0.0, "disagrees"), (-0.005, "cannot be told")])
def test_masks_of_tickets(excess, verdict):
    made = named(results_of(column="t_first_95", dense=[900.0] * 20, ticket=[90.0] * 20), ticket="grokking ticket")
    drawn = excess + np.random.default_rng(0).normal(0, 0.001, 20)
    own = made.runs.loc[made.runs["arm"] == "grokking ticket", ["run", "arm", "seed"]]
    made = made._replace(probes={"mask-entropy": own.assign(layer="W_E", excess=drawn - drawn.mean() + excess)})
    (case,) = (case for case in claim("gt-fig20", "periodic").rule(made).cases if case.seeds)
    assert (case.name, case.verdict) == ("W_E", verdict)


# ── tickets by epoch: one network is one unit ────────────────────────────────────────────────────────────────────


def by_epoch(dense, **tickets):
    """Tickets of the same networks at several epochs: {epoch: times}."""
    made = results_of(30_000, "t_first_95", dense=dense, **{f"at{epoch[1:]}": own for epoch, own in tickets.items()})
    epochs = made.runs["arm"].str.extract(r"at(\d+)")[0]
    arms = made.runs["arm"].where(epochs.isna(), columns.TAKEN + epochs)
    return made._replace(runs=made.runs.assign(**{"arm": arms, "ticket.epoch": epochs}))


DENSE = [12_000.0 + 100 * seed for seed in range(20)]


def test_tickets_are_taken_before_or_after():
    made = by_epoch([1000.0, 1400.0, NEVER], e600=[NEVER] * 3, e1200=[300.0, NEVER, NEVER], e1600=[200.0, 210.0, 5.0])
    early, late = (columns.taken(made.runs, after=after) for after in (False, True))
    assert sorted(early["run"]) == ["at1200-1", "at1200-2", "at1600-2", "at600-0", "at600-1", "at600-2"]
    assert sorted(late["run"]) == ["at1200-0", "at1600-0", "at1600-1"]
    share = values(made, "early tickets that generalise")[made.runs["arm"] == "dense"]
    assert share.tolist() == [0.0, 0.0, pytest.approx(1 / 3)]


@pytest.mark.parametrize(
    ("reach", "verdict"), [(0, "agrees"), (20, "disagrees"), (4, "cannot be told")], ids=["none", "all", "a fifth"]
)
def test_early_tickets(reach, verdict):
    times = [15_000.0] * reach + [NEVER] * (20 - reach)
    ruling = claim("gt-fig4", "before").rule(by_epoch(DENSE, e2000=times, e4000=times))
    assert ruling.verdict == verdict and ruling.cases[0].seeds == 20


LATE = {
    "sooner": (lognormal(500, seed=3), "agrees"),
    "later": (lognormal(20_000, seed=3), "disagrees"),
    "as late": (lognormal(12_500, seed=3), "cannot be told"),
    "never": ([NEVER] * 20, "disagrees"),
}


@pytest.mark.parametrize("name", LATE)
def test_late_tickets(name):
    times, verdict = LATE[name]
    own = claim("gt-fig4", "after").rule
    assert isinstance(own, Custom)
    ruling = own(by_epoch(DENSE, e20000=times, e24000=times, e28000=times))
    assert ruling.verdict == verdict
    assert ruling.cases[0].seeds == 20, "sixty tickets of twenty networks are twenty units"


def test_without_late_tickets_nothing_is_told():
    assert claim("gt-fig4", "after").rule(by_epoch([NEVER] * 20, e2000=[NEVER] * 20)).verdict in (
        "cannot be told",
        "not tested",
    )


def test_columns_of_results_without_the_clocks_are_named():
    made = Results({}, pd.DataFrame({"run": ["a"], "arm": ["dense"], "seed": [0]}), pd.DataFrame(), {})
    with pytest.raises(NotRunError, match="t_first_95"):
        registered["early tickets that generalise"](made)
