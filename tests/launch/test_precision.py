"""precision = "auto" is resolved by the device, before a run has an id."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.launch.local import train_all
from grokscope.launch.precision import resolved


@pytest.mark.parametrize(
    ("device", "capability", "chosen"),
    [("cpu", None, "float32"), ("cuda", (7, 5), "float32"), ("cuda", (8, 0), "tf32"), ("cuda", (9, 0), "tf32")],
)
def test_the_device_decides(monkeypatch, device, capability, chosen):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    assert RunConfig().precision == "auto"
    assert resolved(RunConfig(), torch.device(device)).precision == chosen
    for given in ("float32", "tf32", "bf16"):
        assert resolved(RunConfig(precision=given), torch.device(device)).precision == given


def test_the_stored_run_names_what_was_chosen(tiny, tmp_path):
    assert tiny.precision == "auto"
    (run,) = train_all([tiny], runs=tmp_path, device="cpu")
    assert run.config["precision"] == "float32"
    assert run.id == tiny.id == replace(tiny, precision="float32").id != replace(tiny, precision="tf32").id
    assert train_all([replace(tiny, precision="float32")], runs=tmp_path, device="cpu") == [run]
