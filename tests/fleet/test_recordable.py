"""On a GPU a step and an evaluation are recorded and replayed. So nothing in them may copy numbers from Python to the device,
read a value back, or have a result whose shape depends on values. Seen here by the operations that they consist of."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import grokscope
from grokscope.bench.entries import entries, origin_for, with_data
from grokscope.bench.fleet import loaded
from grokscope.config import COMPONENTS, RunConfig
from grokscope.measures import measures
from grokscope.models.transformer import Transformer
from grokscope.tasks.modular import Modular

OURS = str(Path(grokscope.__file__).parent)
CPU = torch.device("cpu")
BASE = RunConfig(task=Modular(p=23, distractors=2, train_fraction=0.97), model=Transformer(d=8, d_mlp=16))
HELD_OUT = replace(BASE, task=replace(BASE.task, validation=0.1, confirmation=0.05))
KINDS = [kind for kind in COMPONENTS["do"].entries() if kind not in ("none", "both", "transplant", "switch")]
"""Interventions; both is two of them, a transplant needs a run, and a switch changes what is recorded."""
RUNS = {
    **{entry.name: entry.config for entry in entries(BASE)},
    "validation": HELD_OUT,
    **{f"do={kind}": replace(BASE, do=COMPONENTS["do"].get(kind)()) for kind in KINDS},
}
BARRED = {"lift_fresh", "_local_scalar_dense", "nonzero", "masked_select", "_unique2"}
"""torch.tensor of numbers; reading a value; shapes that depend on values."""
ON_A_CPU = ("ops/blockwise.py", "ops/lstm.py")
"""Files that read a value where the tensors are on a CPU, and only there."""


class Watch(TorchDispatchMode):
    """Where a barred operation was asked for."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ in BARRED:
            frames = [frame for frame in traceback.extract_stack()[:-1] if frame.filename.startswith(OURS)]
            last = frames[-1]
            if not last.filename.endswith(ON_A_CPU):
                self.found.append(f"{func} at {last.filename}:{last.lineno}")
        return func(*args, **(kwargs or {}))


def found_in(program) -> list[str]:
    program._look_ahead()
    with Watch() as watch:
        program._step_all()
        program._evaluate_all()
    return watch.found


@pytest.mark.parametrize("name", list(RUNS))
@pytest.mark.parametrize("lanes", [1, 2])
def test_a_step_and_an_evaluation_can_be_recorded(name, lanes):
    config = with_data(RUNS[name])
    program = loaded(config, list(range(lanes)), CPU, origin_for(config))
    assert found_in(program) == []


def test_what_cannot_be_recorded_is_seen(monkeypatch):
    program = loaded(BASE, [0, 1], CPU, None)
    own = {"own": lambda view: {"own": view.train.loss.mean() * torch.tensor(2.0)}}
    monkeypatch.setattr(measures, "entries", lambda: own)
    assert any("lift_fresh" in line for line in found_in(program))
