"""`grokscope reproduce` and `grokscope claims` on experiments of a second."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from grokscope import __version__
from grokscope.cli import science
from grokscope.experiments import base, frozen
from grokscope.experiments.base import Claim, Experiment
from grokscope.experiments.clocks import FIRST_99, in_seconds
from grokscope.experiments.rules import ShareAtMost, Sooner
from grokscope.figures import grokking_times
from grokscope.race.methods.base import configured


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
    monkeypatch.setattr(science, "PRICING", {"full": 0.01, "quick": 0.01})


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


def test_claims_are_found_right_after_reproduce_and_chosen_by_name_and_verdict(toys, run):
    code, out, err = run("reproduce", "toy-*", "--quiet", "--device", "cpu")
    assert code == 0, err
    assert "pictures of toy-a: results/toy-a/quick (1 as SVG and PNG)" in out
    code, out, err = run("claims")  # the quick results, though no scale is named
    assert code == 0, err
    assert "toy-a/fast (quick)" in out and "toy-b/never (quick)" in out
    assert "\n2 claims: 1 agrees, 1 cannot be told.\n" in out
    assert "toy-a" not in run("claims", "toy-b")[1].split("Every effect")[0]
    assert [row["id"] for row in json.loads(run("claims", "toy-*", "--verdict", "agrees", "--json")[1])] == [
        "toy-b/never"
    ]
    assert "toy-b/never" in run("claims", "toy-b/nev*")[1]
    whole = {row["id"]: row["q"] for row in json.loads(run("claims", "--json")[1])}
    (one,) = json.loads(run("claims", "toy-a", "--json")[1])
    assert one["q"] == whole["toy-a/fast"]  # over the whole ledger, whatever is shown


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["toy-c"], "experiment: none is called 'toy-c'. Did you mean toy-"),
        (["toy-a/fst"], "claim: none is called 'toy-a/fst'. Did you mean toy-a/fast?"),
        (["--verdict", "agree"], "--verdict: unknown verdict 'agree'. Did you mean agrees?"),
        (["toy-a", "--check"], "--check: is about the whole ledger; it cannot be combined with names or --verdict"),
        (["--verdict", "agrees", "--markdown"], "--markdown: is about the whole ledger"),
        (["--scale", "half"], "--scale: 'half' is neither full nor quick"),
    ],
)
def test_what_is_wrong_with_a_question_is_one_line(toys, run, words, line):
    run("reproduce", "toy-*", "--quiet", "--device", "cpu")
    code, out, err = run("claims", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(line)


def test_outside_a_checkout_one_line_says_where_results_come_from(run):
    code, out, err = run("claims", "si-fig3")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("--results: there is no folder results. The published results come with the source code")
    assert f"--results grokscope-{__version__}/results (grokscope-{__version__}.tar.gz, or a checkout)" in err
    assert err.endswith("or make your own with `grokscope reproduce si-fig3`\n")


def fail(runs):
    """A picture that cannot be drawn."""
    raise RuntimeError("no ink")


@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_a_picture_that_fails_does_not_hide_the_verdicts(toys, run, tmp_path, monkeypatch, flag):
    toy = base._experiments["toy-b"]
    pictures = {"bad": fail, **toy.pictures}
    monkeypatch.setitem(base._experiments, "toy-b", replace(toy, pictures=pictures))
    code, out, err = run("reproduce", "toy-b", "--quiet", "--device", "cpu", *flag)
    assert code == 1
    assert "toy-b/never" in out and "agrees" in out
    assert "picture toy-b-bad was not drawn (RuntimeError: no ink)" in err
    assert (tmp_path / "results" / "toy-b" / "quick" / "toy-b-times.svg").exists()


def test_arms_that_take_the_same_steps_are_timed_once(tiny, monkeypatch):
    timed = iter((1.0, 2.0, 3.0))
    monkeypatch.setattr("grokscope.bench.fleet.seconds_per_epoch", lambda loop, seconds: next(timed))
    settings = {"lr": {"optim.lr": 0.1}, "decay": {"optim.weight_decay": 2.0}, "sgd": {"optim.kind": "sgd"}}
    free = {"none": {"prior.beta": 0.0}}
    asked = [(arm, configured(tiny, own)) for arm, own in (settings | free).items() for _ in range(2)]
    table = pd.DataFrame({"arm": [arm for arm, _ in asked]})
    found = science._price(table, asked, "cpu", 0.01).groupby("arm")["seconds_per_epoch"].unique()
    assert all(len(own) == 1 for own in found)
    prices = {arm: own[0] for arm, own in found.items()}
    assert prices["lr"] == prices["decay"]
    assert len({prices["lr"], prices["sgd"], prices["none"]}) == 3
