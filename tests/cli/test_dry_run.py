"""What a command would train: counts that agree with what it then trains, and nothing is written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grokscope.config import RunConfig, Stop
from grokscope.launch.local import train_all
from grokscope.launch.preview import preview

GRID = """
epochs = 40
[task]
p = 7
train_fraction = 0.6
[model]
d = 8
d_mlp = 16
[log]
every = 20
[grid]
"prior.beta" = [0.0, 0.3]
"""


def entries(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def test_a_sweep_trains_what_the_dry_run_said(run, tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    before = entries(tmp_path)
    code, out, _ = run("sweep", "grid.toml", "--seeds", "2", "--device", "cpu", "--dry-run")
    assert code == 0 and "Nothing was trained or written." in out and entries(tmp_path) == before
    rows = [line.split() for line in out.splitlines()]
    assert ["no", "prior", "2", "0", "0", "80"] in rows and ["total", "4", "0", "0", "160"] in rows
    said = json.loads(run("sweep", "grid.toml", "--seeds", "2", "--device", "cpu", "--dry-run", "--json")[1])
    assert said["seconds_at_most"] > 0 and [part["steps"] for part in said["conditions"]] == [80, 80]
    _, _, errors = run("sweep", "grid.toml", "--seeds", "2", "--device", "cpu", "--json")
    assert json.loads(errors.splitlines()[-1])["stats"]["run_steps"] == said["steps"] == 160
    out = run("sweep", "grid.toml", "--seeds", "2", "--device", "cpu", "--dry-run")[1]
    assert ["total", "4", "4", "0", "0"] in [line.split() for line in out.splitlines()]
    assert "Nothing is left to train." in out
    out = run("sweep", "grid.toml", "--seeds", "2", "--device", "cpu", "--dry-run", "--again", "--set", "epochs=60")[1]
    assert ["total", "4", "0", "0", "240"] in [line.split() for line in out.splitlines()]
    assert len(entries(tmp_path / "runs")) > 4  # --again deletes nothing in a dry run


def test_runs_that_continue_stop_early_or_are_damaged(tiny, tmp_path):
    short = replace(tiny, epochs=10)
    train_all([short], runs=tmp_path, device="cpu")
    longer = replace(short, epochs=30, precision="float32")
    found = preview([("a", longer), ("b", replace(longer, seed=1)), ("b", longer)], tmp_path)
    assert found.parts == [("a", 1, 0, 1, 20), ("b", 1, 0, 0, 30)] and found.total == ("total", 2, 0, 1, 50)
    assert [config.epochs for config in found.left] == [20, 30] and not found.damaged
    # the stop rule is replayed: the stored rows reach an accuracy of 0.001 for a window of 0 epochs
    stopped = replace(longer, stop=Stop(accuracy=0.001, window=0))
    assert preview([("a", stopped)], tmp_path).total == ("total", 1, 1, 0, 0)
    for state in (tmp_path / longer.id).glob("*.json"):
        state.write_text("{")
    broken = preview([("a", longer)], tmp_path)
    assert list(broken.damaged) == [longer.id] and broken.total == ("total", 1, 0, 0, 30)


def test_a_dry_run_refuses_what_training_refuses(run):
    code, _, errors = run("train", "--set", "ticket.kind=magnitude", "--set", "ticket.run=3f9a", "--dry-run")
    assert code == 2 and errors == "runs: no such folder of runs\n"
    code, _, errors = run("train", "--set", "model.d=400000", "--device", "cpu", "--dry-run")
    assert code == 2 and "of memory" in errors
    assert not Path("runs").exists()


def test_an_experiment_says_what_is_kept_and_what_is_not_counted(run):
    code, out, _ = run("reproduce", "search-rivals", "--dry-run", "--device", "cpu", "--json")
    said = json.loads(out)
    assert code == 0 and said["runs"] == 5 and said["steps"] == 10_000
    assert said["not_counted"] == [
        "search-rivals: further runs, trained when its results are collected, are not counted."
    ]


def test_stored_results_are_kept_with_add(run):
    results = Path(__file__).parents[2] / "results"
    stored = json.loads((results / "si-fig3" / "full" / "about.json").read_text())["runs"]
    words = ("reproduce", "si-fig3", "--full", "--dry-run", "--results", results, "--device", "cpu", "--json")
    anew, added = (json.loads(run(*words, *more)[1]) for more in ((), ("--add",)))
    assert added["not_counted"] == [f"si-fig3: the {stored:,} runs of the stored results are kept."]
    assert anew["runs"] - added["runs"] == stored and not anew["not_counted"]


@pytest.mark.parametrize(("lanes", "count"), [(None, 2), (1, 1)])
def test_shapes_are_timed_with_the_lanes_that_they_train_with(monkeypatch, tiny, lanes, count):
    import torch

    from grokscope.bench import experiments

    monkeypatch.setattr(experiments, "usable_cores", lambda: 2)
    monkeypatch.setattr(experiments, "plan_workers", lambda configs, device, cores, given: given or cores)
    monkeypatch.setattr(experiments, "timed", lambda step, look, seconds, device: (0.4, 0.2))
    (shape,) = experiments.timed_shapes("", [tiny, replace(tiny, seed=1)], torch.device("cpu"), 0.1, lanes=lanes)
    assert shape.lanes == count and shape.step_s == pytest.approx(0.4 / experiments.EPOCHS / count)
    assert isinstance(shape.configs[0], RunConfig) and shape.look_s == pytest.approx(0.2 / count)
