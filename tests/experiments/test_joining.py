"""Runs added to stored results: those that are there stay as they are, and the parts are named."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from grokscope.errors import ConfigError
from grokscope.experiments import base
from grokscope.experiments.base import Claim, Experiment
from grokscope.experiments.frozen import provenance
from grokscope.experiments.joining import joined, still_asked, why_not
from grokscope.experiments.rules import ShareAtMost
from grokscope.store.results import load_results, save_results


@pytest.fixture
def toy(tiny, monkeypatch):
    made = Experiment(
        name="toy-more",
        paper="toys",
        title="Toy",
        question="Does it run?",
        base=replace(tiny, epochs=20),
        arms={"plain": {}, "taught": {"prior.beta": 0.5, "prior.target": "teacher", "prior.teacher": "@plain"}},
        quick_seeds=2,
        claims=[Claim(name="never", statement="Never.", rule=ShareAtMost("plain", 0.9), text="None does.")],
        pictures={},
    )
    monkeypatch.setitem(base._experiments, made.name, made)
    return made


def results_in(folder):
    return load_results(folder, "toy-more", "quick")


def test_seeds_are_added_and_the_others_are_not_trained_again(toy, run, tmp_path, monkeypatch):
    monkeypatch.setenv("GROKSCOPE_COMMIT", "one")
    assert run("reproduce", "toy-more", "--quiet", "--device", "cpu")[0] == 0
    old = results_in(tmp_path / "results")
    changed = old.runs.assign(test_accuracy=0.125)  # to see that these rows are kept
    save_results(tmp_path / "results", old._replace(runs=changed))
    monkeypatch.setenv("GROKSCOPE_COMMIT", "two")
    code, out, err = run(
        "reproduce", "toy-more", "--add", "--seeds", "3", "--runs", "elsewhere", "--quiet", "--device", "cpu"
    )
    assert code == 0, err
    assert "\n40 optimizer steps taken" in out and len(list((tmp_path / "elsewhere").iterdir())) == 2
    both = results_in(tmp_path / "results")
    assert list(both.runs[["arm", "seed"]].itertuples(index=False, name=None)) == [
        (arm, seed) for arm in ("plain", "taught") for seed in range(3)
    ]
    assert (both.runs["test_accuracy"] == 0.125).tolist() == [seed < 2 for seed in both.runs["seed"]]
    assert set(both.curves["run"]) == set(both.runs["run"])
    assert both.about["runs"] == 6 and both.about["run_steps"] == 120
    assert both.about["commit"] == "two"
    assert [(part["commit"], part["runs"]) for part in both.about["earlier"]] == [("one", 4)]
    rows = json.loads(run("claims", "toy-more", "--json")[1])
    assert rows[0]["runs"] == 6

    whole = toy.configs("quick", 3)  # as if all had been trained together
    assert run("reproduce", "toy-more", "--seeds", "3", "--quiet", "--device", "cpu")[0] == 0
    again = results_in(tmp_path / "results").runs
    assert again["run"].tolist() == both.runs["run"].tolist() == [config.id for _, config in whole]
    same = ["run", "arm", "seed", "epochs", "prior.teacher", "epochs_before", "t_first_99", "t_mem_first_95"]
    pd.testing.assert_frame_equal(again[same], both.runs[same])


def test_a_run_that_starts_from_a_stored_one_has_it_trained_too(toy, run, tmp_path):
    assert run("reproduce", "toy-more", "--quiet", "--device", "cpu")[0] == 0
    old = results_in(tmp_path / "results")
    other = replace(toy, arms={**toy.arms, "taught": {**toy.arms["taught"], "prior.beta": 0.25}})
    assert [arm for arm, _ in still_asked(old, toy.configs("quick"))] == []
    assert [arm for arm, _ in still_asked(old, other.configs("quick"))] == ["plain"] * 2 + ["taught"] * 2
    left = joined(old, None, other.configs("quick"), ["taught"])
    assert set(left.runs["arm"]) == {"plain"} and left.about["not_trained"] == ["taught"]
    assert "earlier" not in left.about


def test_results_of_other_rules_or_columns_are_not_added_to(toy, run, tmp_path):
    assert run("reproduce", "toy-more", "--quiet", "--device", "cpu")[0] == 0
    old = results_in(tmp_path / "results")
    assert why_not(toy, old) == ""
    claim = replace(toy.claims[0], rule=ShareAtMost("plain", 0.8))
    assert "rules" in why_not(replace(toy, claims=[claim]), old)
    assert "t_first_50" in why_not(replace(toy, thresholds=(0.5,)), old)
    assert "probes" in why_not(replace(toy, probes=("masks",)), old)
    new = old._replace(runs=old.runs.assign(run=["a", "b", "c", "d"], further=1.0))
    with pytest.raises(ConfigError, match="column further"):
        joined(old, new, toy.configs("quick"), [])


def test_settings_that_one_part_leaves_out_have_their_default(toy, run, tmp_path):
    assert run("reproduce", "toy-more", "--quiet", "--device", "cpu")[0] == 0
    old = results_in(tmp_path / "results")
    asked = toy.configs("quick", 3)
    third = [config.id for _, config in asked if config.seed == 2]
    rows = old.runs[old.runs["seed"] == 0].assign(run=third, seed=2)
    new = old._replace(runs=rows.assign(**{"optim.beta1": 0.5}))
    both = joined(old, new, asked, []).runs
    assert both["optim.beta1"].tolist() == [0.9, 0.9, 0.5] * 2


def test_arms_are_reproduced_one_after_the_other(toy, run, tmp_path):
    how = ("--quiet", "--device", "cpu")
    assert run("reproduce", "toy-more", "--arms", "pl*", *how)[0] == 0
    first = results_in(tmp_path / "results")
    assert set(first.runs["arm"]) == {"plain"} and "not_trained" not in first.about
    code, _, err = run("reproduce", "toy-more", "--arms", "taught", *how)
    assert code != 0 and "give --add to keep them" in err
    code, _, err = run("reproduce", "toy-more", "--arms", "taught", "--add", *how)
    assert code == 0, err
    both = results_in(tmp_path / "results")
    assert both.runs["run"].tolist() == [config.id for _, config in toy.configs("quick")]
    assert "not_trained" not in both.about and "earlier" not in both.about, "both were made at one commit"


def test_parts_count_their_own_runs(toy, run, tmp_path):
    assert run("reproduce", "toy-more", "--quiet", "--device", "cpu")[0] == 0
    stored, asked = results_in(tmp_path / "results"), toy.configs("quick", 4)
    four = [[config.id for _, config in asked if config.seed == seed] for seed in range(4)]

    def part(commit, seed):
        rows = stored.runs[stored.runs["seed"] == 0].assign(run=four[seed], seed=seed)
        return stored._replace(runs=rows, about=stored.about | {"commit": commit})

    def made(results):
        return [(part["commit"], part["runs"]) for part in provenance(results.about)]

    whole = part("a", 0)
    for commit, seed in (("b", 1), ("b", 2), ("c", 3)):
        whole = joined(whole, part(commit, seed), asked, [])
    assert made(whole) == [("a", 2), ("b", 4), ("c", 2)]
    assert made(joined(whole, None, asked, [])) == made(whole)
    fewer = joined(whole, None, [one for one in asked if one[1].seed > 1], [])
    assert made(fewer) == [("b", 2), ("c", 2)], "runs that are no longer asked for are those of the earliest parts"


def test_an_arm_that_starts_from_others_brings_them_along(toy, run, tmp_path):
    assert run("reproduce", "toy-more", "--arms", "taught", "--quiet", "--device", "cpu")[0] == 0
    assert set(results_in(tmp_path / "results").runs["arm"]) == {"plain", "taught"}


def test_a_pattern_that_no_arm_matches_is_one_line(toy, run, tmp_path):
    code, _, err = run("reproduce", "toy-more", "--arms", "tought")
    assert code != 0 and err.strip() == "--arms: no arm matches 'tought'. Did you mean taught?"
    assert not (tmp_path / "results").exists()


def test_add_and_again_exclude_each_other(toy, run):
    code, _, err = run("reproduce", "toy-more", "--add", "--again")
    assert code != 0 and "--add: keeps what is stored" in err
