"""`grokscope reproduce` and `grokscope claims` on experiments of a second."""

import json
from dataclasses import replace

import pytest

from grokscope.cli import science
from grokscope.experiments import base, frozen
from grokscope.experiments.base import Claim, Experiment
from grokscope.experiments.clocks import FIRST_99, in_seconds
from grokscope.experiments.rules import ShareAtMost, Sooner
from grokscope.figures import grokking_times


@pytest.fixture
def toys(tiny, monkeypatch):
    """Two experiments that share an arm; the second is priced."""
    arms = {"plain": {"prior.beta": 0.0}, "oracle": {"prior.beta": 0.5}, "other": {"optim.beta1": 0.5}}
    never = Claim(name="never", statement="Toys never grok.", rule=ShareAtMost("plain", 0.9), text="None does.")
    timed = Sooner("oracle", "plain", in_seconds(FIRST_99))
    fast = Claim(name="fast", statement="It is fast.", rule=timed, text="Sooner.")
    common = {"paper": "toys", "title": "Toy", "question": "Does it run?", "base": replace(tiny, epochs=20)}
    for name, chosen, claim in (("toy-a", ("plain", "oracle"), fast), ("toy-b", ("plain", "other"), never)):
        made = Experiment(
            name=name,
            arms={arm: arms[arm] for arm in chosen},
            quick_seeds=2,
            claims=[claim],
            pictures={"times": grokking_times},
            priced=claim is fast,
            **common,
        )
        monkeypatch.setitem(base._experiments, name, made)
    monkeypatch.setattr(science, "PRICING", 0.01)


def test_shared_runs_are_trained_once_and_everything_is_counted(toys, run, tmp_path):
    code, out, err = run("reproduce", "toy-*", "--quiet", "--device", "cpu")
    assert code == 0, err
    assert "toy-a/fast (quick)" in out and "toy-b/never (quick)" in out
    assert "\n120 optimizer steps taken in " in out
    assert "In total: 6 runs, 120 steps, " in out
    assert len(list((tmp_path / "runs").iterdir())) == 6
    files = {file.name for file in (tmp_path / "results" / "toy-a" / "quick").iterdir()}
    assert files == {"about.json", "runs.parquet", "curves.parquet", "toy-a-times.svg", "toy-a-times.png"}
    about = json.loads((tmp_path / "results" / "toy-a" / "quick" / "about.json").read_text())
    assert (about["runs"], about["run_steps"]) == (4, 80)
    assert about["criterion"] == {"threshold": 0.99, "clock": "held", "window": 100}
    assert about["rules"] == frozen.rule_hashes(base._experiments["toy-a"]) and "commit" in about

    code, out, err = run("reproduce", "toy-a", "--quiet", "--device", "cpu")
    assert code == 0 and "\n0 optimizer steps taken in " in out

    code, out, err = run("claims", "--scale", "quick")
    assert code == 0, err
    assert "2 experiments at quick size: 6 runs, 120 optimizer steps in " in out
    assert "plain: never by " in out and " s (0/2)" in out  # priced

    code, out, err = run("claims", "--scale", "quick", "--json")
    rows = json.loads(out)
    assert [(row["claim"], row["verdict"]) for row in rows] == [("fast", "cannot be told"), ("never", "agrees")]
    assert rows[0]["cases"][0]["seeds"] == 2 and "first crossing of 99 %, in seconds of a run alone" in rows[0]["test"]


def test_results_of_other_arms_are_left_out_with_one_line(toys, run, tmp_path, monkeypatch):
    assert run("reproduce", "toy-*", "--quiet", "--device", "cpu")[0] == 0
    older = base._experiments["toy-b"]
    monkeypatch.setitem(base._experiments, "toy-b", replace(older, arms={"plain": {}}))
    code, out, err = run("claims", "--scale", "quick")
    assert code == 0
    assert "toy-b" not in out
    assert err.strip().count("\n") == 0 and "toy-b" in err


def test_a_pattern_that_fits_nothing_names_the_nearest(run):
    code, _, err = run("reproduce", "si-fgi3")
    assert code != 0
    assert "si-fig3" in err
