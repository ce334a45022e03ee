"""Whole sweeps beside the rate of steps alone, and what an interrupted measurement leaves."""

import json
from dataclasses import replace

import pytest
import torch

from grokscope.bench import experiments, measure, scaling, whole
from grokscope.config import Log, RunConfig, Stop
from grokscope.errors import ConfigError
from grokscope.experiments.base import find_experiment
from grokscope.launch.local import train_all
from grokscope.models.transformer import Transformer
from grokscope.store import read_metrics
from grokscope.tasks.modular import Modular
from grokscope.tickets import tickets

CPU = torch.device("cpu")
TINY = RunConfig(task=Modular(p=7, train_fraction=0.5), model=Transformer(d=8, d_mlp=16))


def row(lanes, rate):
    return {"precision": "float32", "lanes": lanes, "run_steps_per_s": rate}


def test_runs_are_trained_to_the_end(monkeypatch):
    trained = []
    train_all = whole.train_all
    monkeypatch.setattr(
        whole, "train_all", lambda configs, **rest: trained.append((configs, train_all(configs, **rest)))
    )
    (found,) = whole.sweeps(TINY, [row(2, 1000.0), row(64, None)], CPU, seconds=0.1)
    ((configs, infos),) = trained
    assert found["epochs"] == 500 and [info.epoch for info in infos] == [500, 500]
    assert len({config.seed for config in configs}) == found["lanes"] == 2
    assert found["of_bench"] == found["run_steps_per_s"] / 1000


def test_a_short_sweep_has_ten_evaluations(monkeypatch):
    monkeypatch.setattr(whole, "_rate", lambda config, lanes, device: float(config.epochs))
    (found,) = whole.sweeps(TINY, [row(5, 1.0)], CPU, seconds=0.1)
    assert found["epochs"] == found["run_steps_per_s"] == 10 * TINY.log.every


def test_runs_of_an_experiment_are_shortened_alike_and_trained_to_the_end(monkeypatch):
    trained = []
    train_all = experiments.train_all
    monkeypatch.setattr(
        experiments, "train_all", lambda configs, **rest: trained.append((configs, train_all(configs, **rest)))
    )
    monkeypatch.setattr(experiments, "timed", lambda step, look, seconds, device: (4 * 0.01, 0.0))  # of four epochs
    wide = replace(TINY, model=Transformer(d=16, d_mlp=16), epochs=3000)
    asked = [replace(TINY, epochs=5000, seed=seed) for seed in range(2)] + [wide]
    asked.append(replace(TINY, ticket=tickets.get("magnitude")(run="another")))
    found = experiments.whole_experiment("some", asked, CPU, seconds=1.3)
    ((configs, infos),) = trained
    # 130 s of steps are expected, ten times 1.3 s are wanted; at least ten evaluations
    assert [config.epochs for config in configs] == [500, 500, 300] == [info.epoch for info in infos]
    assert (found["runs"], found["left_out"], len(found["lanes"]), found["epochs"]) == (3, 1, 2, 0.1)
    assert found["run_steps"] == 1300 and found["bench_run_steps_per_s"] == pytest.approx(100)
    assert found["of_bench"] == pytest.approx(found["run_steps_per_s"] / 100)


def test_evaluations_are_those_of_training(tmp_path):
    for log, epochs in ((Log(every=10), 35), (Log(every=10, dense=True), 40), (Log(every=50), 20)):
        config = replace(TINY, log=log, epochs=epochs, stop=Stop(accuracy=0.0), seed=epochs)
        (info,) = train_all([config], runs=tmp_path, device="cpu")
        assert len(read_metrics(info)) == experiments.evaluations(config)


def test_an_experiment_of_runs_that_refer_to_others_is_refused():
    config = replace(TINY, ticket=tickets.get("magnitude")(run="another"))
    with pytest.raises(ConfigError, match="--experiment: every run of some refers to another"):
        experiments.whole_experiment("some", [config], CPU, seconds=0.1)


def test_an_experiment_on_the_command_line(run, tmp_path, monkeypatch):
    asked = []

    def whole_experiment(name, configs, device, **_):
        asked.extend(configs)
        row = {"runs": 9, "left_out": 1, "lanes": [4, 5], "epochs": 0.5, "run_steps": 1000, "seconds": 2.0}
        rates = {"run_steps_per_s": 500.0, "bench_run_steps_per_s": 1000.0, "of_bench": 0.5}
        return {"experiment": name, "precision": "float32", **row, **rates}

    monkeypatch.setattr(experiments, "whole_experiment", whole_experiment)
    path = tmp_path / "speed.json"
    code, out, _ = run("bench", "--experiment", "si-fig3", "--device", "cpu", "-o", path, "--json")
    assert code == 0 and json.loads(out)["experiments"][0]["of_bench"] == 0.5
    assert {config.id for config in asked} == {config.id for _, config in find_experiment("si-fig3").configs("quick")}
    code, out, _ = run("bench", "--from", path)
    line = next(line for line in out.splitlines() if line.startswith("si-fig3"))
    # of 2 s half are steps and evaluations; the other second is that of nine runs
    assert code == 0
    # 111.1 ms are added to 111 steps of 1 ms each: they are 30 % of the time from 259 steps on
    assert line.split() == ["si-fig3", "float32", "9", "2", "2.0", "500", "1,000", "111.1", "ms", "111", "50%", "259"]


def test_what_was_measured_is_kept_if_the_rest_fails(run, tmp_path, monkeypatch):
    def two_points(*_, **__):
        yield {"axis": "lanes", "value": 1}
        yield {"axis": "lanes", "value": 2}
        raise KeyboardInterrupt

    fleet = {"fleet": [row(1, 10.0)], "device": "a", "threads": 2}
    monkeypatch.setattr(measure, "bench", lambda *_, **__: fleet)
    monkeypatch.setattr(scaling, "scaling", two_points)
    assert run("bench", "--scaling", "--device", "cpu", "-o", tmp_path / "speed.json")[0] == 130
    stored = json.loads((tmp_path / "speed.json").read_text())
    assert stored["fleet"] == fleet["fleet"] and [point["value"] for point in stored["scaling"]] == [1, 2]
    assert stored["command"] == "grokscope bench --scaling --device cpu -o speed.json"
