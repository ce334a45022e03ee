"""`bench --all`: which entries there are, what is kept, and when it stops."""

import json
import time

import pytest
import torch

import grokscope
from grokscope.bench import every
from grokscope.bench.entries import REFERENCES, Entry, entries
from grokscope.bench.every import NUMBERS, bench_all, entry_row
from grokscope.bench.report import tables
from grokscope.config import COMPONENTS, RunConfig
from grokscope.errors import ConfigError
from grokscope.models.transformer import Transformer
from grokscope.optim import losses
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")
BASE = RunConfig(task=Modular(p=23, train_fraction=0.97), model=Transformer(d=8, d_mlp=16))


def test_the_registries_are_walked():
    found = {entry.name: entry for entry in entries(BASE)}
    assert not [entry.problem for entry in found.values() if entry.problem]
    for component, registry in COMPONENTS.items():
        if component == "do":  # interventions have no counterpart in a plain loop
            continue
        default = getattr(BASE, component).kind
        for kind in registry.entries():
            assert f"{component}={kind}" in found or kind == default, (component, kind)
    assert all(f"loss={loss}" in found or loss == BASE.loss for loss in losses.entries())
    for norm in ("attention", "mlp", "both", "query-key", "value"):
        assert {f"model.norm={norm}", f"standard, norm={norm}", f"standard, norm={norm}, gain and bias"} <= found.keys()
        gained = found[f"standard, norm={norm}, gain and bias"].config
        sites = {"attention": ["attention"], "mlp": ["mlp"], "both": ["attention", "mlp"]}.get(norm, ["attention"])
        own = {f"{kind}_{site}" for site in sites for kind in ("gain", "bias")}
        assert {name for name in gained.model.parameters(gained.task.shape) if name.startswith(("gain", "bias"))} == own
    assert found["model.mlp.bias=true"].config.model.mlp.bias
    affine = found["model.norm_kind.affine=true"].config.model
    assert affine.norm_kind.affine and affine.norm == "both"
    assert found["power, norm=both, gain, bias and biases"].config.model.layers == 2
    assert found["batch_size=512"].config.batch_size == 512
    assert {"default", "model.heads=4", "model.layers=2", "model.readout=minimal", *REFERENCES} <= found.keys()


def test_reference_networks():
    found = {entry.name: entry.config for entry in entries(RunConfig())}
    standard, power, tickets = (found[name] for name in REFERENCES)
    assert (standard.task.shape.length, standard.task.shape.classes, standard.model.heads) == (3, 113, 4)
    assert (power.task.shape.classes, power.model.layers, power.batch_size) == (97, 2, 512)
    assert (tickets.task.shape.classes, tickets.model.d, tickets.model.d_mlp) == (67, 500, 48)


def test_each_entry_has_the_settings_of_the_base():
    base = RunConfig.from_dict({**BASE.to_dict(), "precision": "bf16"})
    assert {entry.config.precision for entry in entries(base)} == {"bf16"}


def test_settings_that_do_not_fit_are_a_row_with_the_reason():
    small = RunConfig(task=Modular(p=7, train_fraction=0.5), model=BASE.model)
    entry = next(entry for entry in entries(small) if entry.name == "batch_size=512")
    row = entry_row(entry, 1, CPU, 0.01, 1e9)
    assert row["note"].startswith("batch_size: 512 is outside 0 … ")
    assert {row[name] for name in NUMBERS} == {None}


@pytest.fixture
def few(monkeypatch):
    """Three entries, of which nothing is timed; the names of those that would be are returned."""
    timed = []
    monkeypatch.setattr(every, "entries", lambda base: [Entry(name, base) for name in ("a", "b", "c")])
    monkeypatch.setattr(every, "copy_rate", lambda device: 1e9)
    monkeypatch.setattr(every, "free", lambda device: None)

    def numbers(config, lanes, *_):
        timed.append(lanes)
        return {"lanes": lanes, **dict.fromkeys(NUMBERS, 1.0)}

    monkeypatch.setattr(every, "_timed", numbers)
    return timed


def test_what_is_stored_is_kept(few):
    saved = []
    once = bench_all(BASE, CPU, lanes=2, save=saved.append)
    assert [row["entry"] for row in once["all"]] == ["a", "b", "c"] and len(few) == 3
    assert [len(measured["all"]) for measured in saved] == [1, 2, 3]
    stored = json.loads(json.dumps(once))
    assert bench_all(BASE, CPU, lanes=2, stored=stored) == once and len(few) == 3
    stored["all"] = stored["all"][1:]
    assert [row["entry"] for row in bench_all(BASE, CPU, lanes=2, stored=stored)["all"]] == ["a", "b", "c"]
    assert len(few) == 4
    bench_all(BASE, CPU, lanes=3, stored=stored)  # other settings
    assert len(few) == 7


def test_rows_name_the_version_they_were_measured_with(few):
    stored = bench_all(BASE, CPU, lanes=2) | {"version": "0.9"}
    stored["all"] = [row | {"version": "0.9"} for row in stored["all"][:2]]
    again = bench_all(BASE, CPU, lanes=2, stored=stored)
    assert [row["version"] for row in again["all"]] == ["0.9", "0.9", grokscope.__version__] and len(few) == 4
    (table,) = tables(again)
    assert f"2 entries were measured with grokscope 0.9, the others with {grokscope.__version__}" in table.note


def test_failures_are_timed_again(few):
    once = bench_all(BASE, CPU, lanes=2)
    once["all"][1]["note"] = "out of memory"
    assert not any(row["note"] for row in bench_all(BASE, CPU, lanes=2, stored=once)["all"])
    assert len(few) == 4


@pytest.mark.parametrize("other", [{"device": "NVIDIA H200"}, {"torch": "2.5"}])
def test_a_file_of_another_machine_is_not_overwritten(few, other):
    stored = bench_all(BASE, CPU, lanes=2) | other
    with pytest.raises(ConfigError, match=next(iter(other.values())) + ".* add --again"):
        bench_all(BASE, CPU, lanes=2, stored=stored)


def test_no_entry_is_started_when_the_time_is_used_up(few, monkeypatch):
    clock = iter(range(0, 10_000, 40))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    said = []
    measured = bench_all(BASE, CPU, lanes=2, budget=100, notify=said.append)
    assert [row["entry"] for row in measured["all"]] == ["a"]
    assert said[-1].endswith("2 entries are left or not checked")


def test_one_failure_does_not_end_the_others(few, monkeypatch):
    def broken(config, lanes, *_):
        few.append(lanes)
        if len(few) == 2:
            raise RuntimeError("shapes do not fit\nmore")
        if len(few) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return dict.fromkeys(NUMBERS, 1.0)

    monkeypatch.setattr(every, "_timed", broken)
    notes = [row["note"] for row in bench_all(BASE, CPU, lanes=2)["all"]]
    assert notes == ["", "RuntimeError: shapes do not fit", "out of memory"]


def test_a_row_is_measured(monkeypatch):
    monkeypatch.setattr(every, "CALL", 1e-6)
    row = entry_row(Entry("a", BASE), 2, CPU, 0.001, 1e9)
    assert row["note"] == "" and (row["lanes"], row["trained"], row["plain_loop"]) == (2, "fused", "nn.Module")
    assert row["ratio"] == pytest.approx(row["run_steps_per_s"] / row["plain_run_steps_per_s"], rel=1e-3)
    assert row["of_limit"] == pytest.approx(row["run_steps_per_s"] / row["limit"], rel=1e-3)


def test_the_command(run, few, tmp_path):
    words = ("bench", "--all", "--device", "cpu", "--lanes", "2", "-o", tmp_path / "all.json")
    code, out, err = run(*words)
    assert code == 0 and "Every entry, float32" in out and "a (1 of 3)" in err
    stored = json.loads((tmp_path / "all.json").read_text())
    assert stored["command"] == "grokscope bench --all --device cpu --lanes 2 -o all.json"
    assert run(*words)[0] == 0 and len(few) == 3
    assert run(*words, "--again")[0] == 0 and len(few) == 6
    code, out, _ = run("bench", "--from", "all.json")
    assert code == 0 and "Every entry" in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--all", "--scaling"), "--all: cannot be combined with --scaling"),
        (("--all", "--lanes", "1,2"), "--lanes: --all takes one value, not several"),
        (("--budget", "5"), "--budget: only --all has entries"),
    ],
)
def test_options_that_do_not_go_together(run, words, problem):
    code, _, err = run("bench", "--device", "cpu", *words)
    assert code == 2 and err.startswith(problem)


def test_another_measurement_is_not_overwritten(run, few, tmp_path):
    (tmp_path / "speed.json").write_text('{"fleet": []}')
    code, _, err = run("bench", "--all", "--device", "cpu", "-o", "speed.json")
    assert code == 2 and err.startswith("--output: speed.json is not a measurement of grokscope bench --all")
