"""Whole sweeps beside the rate of steps alone, and what an interrupted measurement leaves."""

import json

import torch

from grokscope.bench import measure, scaling, whole
from grokscope.config import RunConfig
from grokscope.models.transformer import Transformer
from grokscope.tasks.modular import Modular

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
