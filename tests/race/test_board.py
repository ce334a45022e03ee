"""The leaderboard: order, intervals, runs that never reach; results of two devices side by side."""

import math
from pathlib import Path

import numpy as np
import pytest

from grokscope.cli.race_shown import control_cases
from grokscope.experiments.base import find_experiment
from grokscope.experiments.ledger import rulings
from grokscope.figures import figures
from grokscope.papers.race.figures.controls import positive_controls
from grokscope.race.board import ranked
from grokscope.race.clocks import FIRST, FIRST_95
from grokscope.race.merging import merged
from grokscope.race.page import controls_rows, markdown
from grokscope.race.words import cells, interval
from tests.experiments.tables import lognormal, results_of

TUNED = {"adamw": {"settings": {"optim.lr": 0.01}, "run_steps": 1234, "note": ""}}


def table(horizon=20_000, **arms):
    """Results with the columns of a race; stable times are twice the first crossing."""
    results = results_of(horizon, "race_first", **arms)
    runs = results.runs.assign(
        race_first_95=lambda t: t["race_first"],
        race_stable=lambda t: 2 * t["race_first"].astype(float),
        race_end=float(horizon),
        race_steps_per_epoch=2.0,
        seconds_per_epoch=np.where(results.runs["arm"] == "Lion", 0.5, 0.25),
        flops_per_epoch=1e9,
        steps=10,
        step_seconds=1.0,
    )
    return results._replace(runs=runs, about={**results.about, "device": "cpu"})


def test_the_earliest_median_comes_first_and_never_comes_last():
    results = table(AdamW=[200] * 20, Lion=[100] * 20, SGD=[None] * 20, EGD=[50] * 9 + [None] * 11)
    rows = ranked(results, TUNED)
    assert [row.title for row in rows] == ["Lion", "AdamW", "EGD", "SGD"]
    lion, adamw, egd, _ = rows
    assert lion.first == (100, 100, 100) and lion.stable == (200, 200, 200)
    assert lion.seconds[0] == 100 / 2 * 0.5 and lion.flops[0] == 100 / 2 * 1e9
    assert lion.ratio == pytest.approx((0.5, 0.5, 0.5)) and adamw.ratio == (1, 1, 1)
    assert egd.reached == 9 and math.isinf(egd.first[0]) and egd.share == pytest.approx((0.231, 0.685), abs=1e-3)
    assert adamw.tuning_steps == 1234 and adamw.settings == {"optim.lr": 0.01} and lion.tuning_steps is None


def test_a_search_shows_whose_settings_it_has():
    (row, _) = ranked(table(search=[100] * 6, AdamW=[200] * 6), TUNED)
    assert row.settings == {"optim.lr": 0.01} and row.note == "settings of adamw, not tuned itself"


@pytest.mark.parametrize(("lr", "note"), [(0.01, ""), (0.099, "at the edge of its range: optim.lr")])
def test_a_setting_at_the_edge_of_its_range_is_named(lr, note):
    tuned = {"adamw": {"settings": {"optim.lr": lr, "optim.weight_decay": 1.0}, "run_steps": 1, "note": ""}}
    (row,) = ranked(table(AdamW=[200] * 6), tuned)
    assert row.note == note and cells(row)[-1].endswith(note)


def test_words():
    assert interval((1200.0, 900.0, math.inf)) == "1,200 (900 to never)"
    assert interval((math.inf,) * 3) == "never" and interval((math.nan,) * 3) == "–"
    (row,) = ranked(table(AdamW=[200] * 20), TUNED)
    assert cells(row)[:4] == ("AdamW", "20 of 20 (83 to 100 %)", "200 (200 to 200)", "400 (400 to 400), 20 of 20")


def test_stored_methods_are_kept_beside_new_ones_and_seconds_of_two_devices_are_not_compared():
    said = []
    old, new = table(AdamW=[200] * 3, Lion=[100] * 3), table(Lion=[50] * 3, EGD=[40] * 3)
    both = merged(new, old, said.append)
    assert sorted(set(both.runs["arm"])) == ["AdamW", "EGD", "Lion"] and len(both.runs) == 9
    assert set(both.runs.loc[both.runs["arm"] == "Lion", "race_first"]) == {50}
    assert "seconds_per_epoch" in both.runs and both.about["run_steps"] == 90 and not said
    both = merged(new._replace(about={**new.about, "device": "gpu"}), old, said.append)
    assert "seconds_per_epoch" not in both.runs and len(said) == 1
    assert all(math.isnan(row.seconds[0]) for row in ranked(both, {}))
    assert merged(new, None, said.append) is new


def test_a_setting_that_one_part_leaves_out_has_its_default_where_a_run_has_it():
    old, new = table(AdamW=[200] * 2), table(Lion=[100] * 2)
    old = old._replace(runs=old.runs.assign(**{"task.op": "*", "model.d": 128}))
    new = new._replace(runs=new.runs.assign(**{"model.kind": "mlp"}))
    both = merged(new, old, lambda line: None).runs
    assert both["task.op"].tolist() == ["*"] * 2 + ["+"] * 2
    assert both["model.kind"].tolist() == ["transformer"] * 2 + ["mlp"] * 2
    assert both["model.d"].iloc[:2].tolist() == [128.0] * 2 and both["model.d"].iloc[2:].isna().all()


def test_seconds_of_only_some_methods_are_left_out():
    old, new = table(AdamW=[200] * 4), table(Lion=[100] * 4)
    untimed = new._replace(runs=new.runs.drop(columns="seconds_per_epoch"))
    for first, second in ((untimed, old), (old, untimed)):
        said = []
        both = merged(first, second, said.append)
        assert said == ["seconds are left out: only some of the methods were timed"]
        assert all(math.isnan(row.seconds[0]) and row.first[0] > 0 for row in ranked(both, TUNED))


def test_the_picture_has_a_mark_for_every_seed():
    results = table(AdamW=lognormal(200, 6), Lion=[100, 110, None, 130, None, 90])
    (axes,) = figures.get("race-leaderboard")(results).axes
    marks = [line.get_gid() for line in axes.lines]
    assert marks.count("reached") == 10 and marks.count("censored") == 2


def test_the_picture_of_the_controls_counts_to_the_authors_threshold():
    results = table(Muon=[100, 110, None], EGD=[40, 50, 60])
    results = results._replace(runs=results.runs.assign(race_first_95=results.runs["race_first"] / 2))
    clocks = {"Muon": FIRST_95, "EGD": FIRST}
    (axes,) = positive_controls(results, clocks=clocks, published={"Muon": 70.0}).axes
    reached = [line.get_xdata()[0] for line in axes.lines if line.get_gid() == "reached"]
    assert sorted(reached) == [40, 50, 50, 55, 60]
    assert [line.get_gid() for line in axes.lines].count("censored") == 1
    (bar,) = axes.collections
    assert bar.get_gid() == "published" and bar.get_segments()[0][0][0] == 70


def judged(name, claim, **times):
    """The ruling of a claim on made-up times; methods without any take about 1,000 steps."""
    experiment = find_experiment(name)
    arms = {arm: times.get(arm.replace(" ", "_"), lognormal(1000, seed=n)) for n, arm in enumerate(experiment.arms)}
    (own,) = [one for one in experiment.claims if one.name == claim]
    return own.rule(table(**arms))


def test_the_oracle_is_compared_with_every_method():
    assert judged("race-C", "told", oracle_prior=lognormal(300, seed=50)).verdict == "agrees"
    rival = judged("race-C", "told", oracle_prior=lognormal(1000, seed=50), Muon=lognormal(400, seed=51))
    assert rival.verdict == "disagrees"


def test_reported_accelerators_and_others_are_judged_apart():
    times = {"oracle_prior": lognormal(300, seed=50), "Lion": lognormal(600, seed=51)}
    verdicts = {case.name: case.verdict for case in judged("race-C", "sooner", **times).cases}
    assert verdicts["oracle prior"] == "agrees" and verdicts["Muon"] != "agrees" and "Lion" not in verdicts
    verdicts = {case.name: case.verdict for case in judged("race-C", "others", **times).cases}
    assert verdicts["Lion"] == "agrees" and verdicts["SGD"] != "agrees" and "AdamW" not in verdicts


def test_tuned_adamw_meets_its_published_number_or_not():
    verdicts = [judged("race-A", "tuned-adamw", AdamW=lognormal(t, spread=0.1)).verdict for t in (100, 140, 300)]
    assert verdicts == ["agrees", "cannot be told", "disagrees"]


def test_controls_reach_their_numbers_or_the_page_says_not(tmp_path):
    experiment = find_experiment("race-controls")
    arms = {arm: [5000.0] * 20 for arm in experiment.arms} | {"Grokfast-MA": [800.0] * 20, "EGD": [50.0] * 20}
    cases = [case for row in rulings(experiment, table(**arms)) for case in row["cases"]]
    verdicts = {row[0]: row[3] for row in controls_rows(cases)}
    assert verdicts["Grokfast-MA"].startswith("reached") and verdicts["Grokfast-EMA"].startswith("not reached")
    assert verdicts["EGD"].startswith("reached. The code has p = 79")
    assert "in float32, in a form that keeps its digits" in verdicts["StableMax"], "beside what it may explain"
    assert "Mamba-2" in verdicts["weight noise"]
    page = markdown(tmp_path, "full", cases)
    assert page.count("Not run yet.") == 5 and "| Grokfast-EMA |" in page
    assert "Not in the race: GrokTransfer (arXiv 2504.13292)" in page


def test_the_page_is_that_of_the_stored_results():
    """`make docs` writes it anew."""
    root = Path(__file__).parents[2]
    page = markdown(root / "results", "full", control_cases(root / "results", "full"))
    assert (root / "docs" / "race.md").read_text(encoding="utf-8") == page
