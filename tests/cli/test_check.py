"""`grokscope check` verifies stored runs and results, and repairs runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from grokscope.config.files import read_config
from grokscope.launch.local import train_all
from grokscope.store import list_runs
from grokscope.store.results import Results, save_results

TINY = [
    *("--set", "task.p=7", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6", "--set", "log.keep=5"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=15", "--set", "log.every=5", "--device", "cpu"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder of two finished runs."""
    folder = tmp_path_factory.mktemp("trained") / "runs"
    config = read_config(None, dict(word.split("=") for word in TINY if "=" in word))
    train_all([replace(config, seed=seed) for seed in (0, 1)], runs=folder, device="cpu")
    return folder


@pytest.fixture
def ids(run, trained):
    shutil.copytree(trained, "runs")
    return [info.id for info in list_runs("runs")]


def part(id, number):
    return sorted(Path("runs", id, "metrics").iterdir())[number]


def test_intact_runs(run, ids):
    assert run("check") == (0, "2 runs checked, none damaged\n", "")
    assert run("check", ids[0][:6]) == (0, "1 run checked, none damaged\n", "")
    code, out, _ = run("check", "--json")
    assert code == 0
    assert [one["id"] for one in json.loads(out)] == sorted(ids)


def test_a_damaged_run_is_named_repaired_and_trained_to_the_same_end(run, ids):
    before = run("show", ids[0], "--json")[1]
    lost = part(ids[0], -1)
    lost.unlink()
    code, out, err = run("check")
    line, summary = out.splitlines()
    assert (code, err, summary) == (1, "", "2 runs checked, 1 damaged")
    assert line.startswith(f"{ids[0]}: runs/{ids[0]}/metrics: damaged (")
    assert line.endswith(f"; grokscope check --repair {ids[0]} goes back to epoch 10")
    assert run("check")[1] == out, "nothing is changed without --repair"
    code, out, _ = run("check", "--repair")
    assert (code, out.splitlines()[-1]) == (0, "2 runs checked, 1 repaired, none damaged")
    assert out.startswith(f"{ids[0]}: repaired: it is back at epoch 10 (of 15)\n")
    assert run("check")[0] == 0
    assert {info.id: info.status for info in list_runs("runs")} == {ids[0]: "stopped", ids[1]: "done"}
    assert run("train", *TINY, "--seeds", "2", "-q")[0] == 0
    after = run("show", ids[0], "--json")[1]
    assert strip_times(json.loads(after)) == strip_times(json.loads(before))


def strip_times(shown):
    """Without what depends on the clock."""
    shown["last"] = {name: value for name, value in shown["last"].items() if not name.startswith("seconds")}
    return shown | {"manifest": None}


def test_what_cannot_be_repaired_is_named(run, ids):
    for folder in ("metrics", "checkpoints"):
        for path in Path("runs", ids[1], folder).iterdir():
            path.write_bytes(path.read_bytes()[:-1])
    code, out, _ = run("check", "--repair")
    assert code == 1
    assert f"{ids[1]}: " in out and "it cannot be repaired" in out and f"grokscope rm {ids[1]} deletes it" in out
    code, out, _ = run("check", "--json")
    (bad,) = [one for one in json.loads(out) if one["problems"]]
    assert (code, bad["id"]) == (1, ids[1])
    assert run("rm", ids[1], "--yes")[0] == 0
    assert run("check")[0] == 0


def test_a_run_under_another_name_is_named(run, ids):
    Path("runs", ids[0]).rename("runs/0123456789ab")
    code, out, _ = run("check")
    assert code == 1
    assert out.startswith("0123456789ab: runs/0123456789ab/manifest.json: damaged (its checksum is wrong")


def test_results_are_checked(run):
    table = pd.DataFrame({"run": ["a"]})
    target = save_results(Path("results"), Results({"experiment": "toy", "scale": "quick"}, table, table))
    assert run("check", "--results", "results") == (0, "1 results checked, none damaged\n", "")
    (target / "runs.parquet").unlink()
    code, out, _ = run("check", "--results", "results")
    assert code == 1
    assert out.splitlines()[0] == (
        "toy/quick: results/toy/quick/runs.parquet: missing; grokscope reproduce toy --quick writes them again"
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--runs", "nowhere"], "nowhere: no such folder of runs"),
        (["--results", "nowhere"], "--results: nowhere is not a folder of results"),
        (["--results", ".", "--repair"], "--results: checks results; it takes neither runs nor --repair"),
    ],
)
def test_wrong_words_are_one_line(run, words, line):
    assert run("check", *words) == (2, "", line + "\n")


def test_the_committed_results_are_intact(run):
    code, out, err = run("check", "--results", Path(__file__).parents[2] / "results")
    assert (code, err) == (0, "")
    assert out.endswith("results checked, none damaged\n") and int(out.split()[0]) >= 43
