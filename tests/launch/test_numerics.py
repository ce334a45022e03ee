"""What a run's bits depend on stands in its manifest, and so does every change when it continues elsewhere."""

import json
from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.launch import local
from grokscope.launch.local import train
from grokscope.ops.blas import numerics
from grokscope.store import RunFolder, find_run, last_numerics, read_checkpoint
from grokscope.store.layout import label
from grokscope.store.seal import sealed_json

HERE = numerics(torch.device("cpu"), lanes=1)
WARNING = "the bits may differ from those of an uninterrupted run\n"


@pytest.fixture
def elsewhere(monkeypatch):
    """Pretend that this is another machine."""

    def move(**changes):
        monkeypatch.setattr(local, "numerics", lambda device, lanes: HERE | changes)

    return move


def test_every_run_has_them_and_show_prints_them(tiny, tmp_path, run):
    found = train(tiny, seeds=2, runs=tmp_path / "runs")
    for one in found:
        assert one.manifest["numerics"] == HERE
        assert "continued" not in one.manifest
    code, out, _ = run("show", found[0].id, "--json")
    assert code == 0
    assert json.loads(out)["manifest"]["numerics"] == HERE


def test_a_run_that_continues_as_before_says_nothing(tiny, tmp_path, capsys):
    train(tiny, runs=tmp_path)
    (found,) = train(replace(tiny, epochs=20), runs=tmp_path)
    assert "continued" not in found.manifest
    assert WARNING not in capsys.readouterr().err


def test_a_run_that_continues_elsewhere_says_so_in_one_line_and_records_it(tiny, tmp_path, capsys, elsewhere):
    train(tiny, seeds=2, runs=tmp_path)
    elsewhere(capability="AVX2", mkl_cbwr="COMPATIBLE")
    capsys.readouterr()
    found = train(replace(tiny, epochs=20), seeds=2, runs=tmp_path)
    ids = ", ".join(one.id for one in found)
    change = (
        f"capability AVX2 instead of {HERE['capability']}, mkl_cbwr COMPATIBLE instead of {HERE['mkl_cbwr'] or 'none'}"
    )
    assert (
        capsys.readouterr().err.splitlines(keepends=True)[-1] == f"2 runs ({ids}): continued with {change}; {WARNING}"
    )
    for one in found:
        assert one.manifest["numerics"] == HERE
        (entry,) = one.manifest["continued"]
        assert entry["epoch"] == tiny.epochs
        assert (
            entry["numerics"]
            == last_numerics(one.manifest)
            == HERE
            | {
                "capability": "AVX2",
                "mkl_cbwr": "COMPATIBLE",
            }
        )


def test_every_change_is_recorded_and_coming_back_is_one(tiny, tmp_path, capsys, elsewhere):
    train(tiny, runs=tmp_path)
    for epochs, cpu in ((15, "another"), (20, "another"), (25, HERE["cpu"])):
        elsewhere(cpu=cpu)
        (found,) = train(replace(tiny, epochs=epochs), runs=tmp_path)
    assert [(entry["epoch"], entry["numerics"]["cpu"]) for entry in found.manifest["continued"]] == [
        (12, "another"),
        (20, HERE["cpu"]),
    ]
    assert capsys.readouterr().err.count(WARNING) == 2


def test_a_run_that_was_not_trained_yet_begins_with_what_is_there_now(tiny, tmp_path, capsys, elsewhere):
    """Killed after its folder was made, before the first save."""
    old = {"numerics": HERE | {"cpu": "another"}}
    RunFolder.create_or_open(tmp_path, tiny.id, tiny.to_dict(), device="cpu", record=old).close()
    (found,) = train(tiny, runs=tmp_path)
    assert found.manifest["numerics"] == HERE
    assert "continued" not in found.manifest
    assert capsys.readouterr().err == ""


def test_another_kind_of_device_is_named(tiny, tmp_path, capsys, elsewhere):
    (found,) = train(tiny, runs=tmp_path)
    manifest = found.manifest | {"numerics": {"promise": "", "gpu": "NVIDIA H200", "capability": "9.0", "lanes": 5}}
    path = found.path / "manifest.json"
    path.write_bytes(sealed_json(manifest, label(path)))
    train(replace(tiny, epochs=20), runs=tmp_path)
    assert f"continued with cpu {HERE['cpu']} instead of gpu NVIDIA H200; {WARNING}" in capsys.readouterr().err


def test_the_number_of_lanes_is_that_of_the_plan_and_follows_when_memory_runs_out(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(local, "numerics", lambda device, lanes: {"lanes": lanes})
    configs = [replace(tiny, seed=seed) for seed in range(5)]
    cpu = torch.device("cpu")
    group = local._group(configs, 512, cpu, lambda config, now: local._job(config, tmp_path, cpu, now))
    assert {job.sink.numerics()["lanes"] for job in group.waiting} == {5}
    group.lanes = 2
    job = group.waiting[0]
    assert job.sink.resume() is None
    job.sink.close()
    assert find_run(tmp_path, configs[0].id).manifest["numerics"] == {"lanes": 2}


def test_a_manifest_without_them_gets_them(tiny, tmp_path, capsys):
    """Of a version that did not record them: nothing can be said of a change."""
    (found,) = train(tiny, runs=tmp_path)
    manifest = {name: value for name, value in found.manifest.items() if name != "numerics"}
    path = found.path / "manifest.json"
    path.write_bytes(sealed_json(manifest, label(path)))
    train(replace(tiny, epochs=20), runs=tmp_path)
    manifest = find_run(tmp_path, found.id).manifest
    assert [(entry["epoch"], entry["numerics"]) for entry in manifest["continued"]] == [(12, HERE)]
    assert WARNING not in capsys.readouterr().err


def test_products_that_a_script_allows_do_not_reach_a_run(tiny, tmp_path):
    """Sizes at which oneDNN would take over the products."""
    config = replace(tiny, model=replace(tiny.model, d=64, d_mlp=128), epochs=4)
    (strict,) = train(config, runs=tmp_path / "strict")
    torch.set_float32_matmul_precision("medium")
    try:
        (loose,) = train(config, runs=tmp_path / "loose")
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    a, b = read_checkpoint(strict).tensors, read_checkpoint(loose).tensors
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_another_default_dtype_is_refused(tiny, tmp_path):
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(ConfigError, match=r"^precision: .* torch\.float64$"):
            train(tiny, runs=tmp_path / "runs")
    finally:
        torch.set_default_dtype(torch.float32)
    assert not (tmp_path / "runs").exists()
