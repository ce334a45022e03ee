"""Tensors come back bit for bit."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load, save
from sample_run import ID, open_run, same

from grokscope.store import checkpoints, find_run, read_checkpoint


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), shape=st.lists(st.integers(0, 4), max_size=3))
def test_every_type_and_every_bit_pattern(seed: int, shape: list[int]) -> None:
    generator = torch.Generator().manual_seed(seed)
    saved = {}
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8):
        # Random bits, so that NaNs with payloads, infinities and denormal numbers occur.
        bits = torch.randint(0, 256, (*shape, dtype.itemsize), dtype=torch.uint8, generator=generator)
        saved[str(dtype)] = bits.view(dtype).reshape(shape)
    saved["bool"] = torch.rand(shape, generator=generator) > 0.5
    saved["generator"] = generator.get_state()
    with tempfile.TemporaryDirectory() as runs:
        with open_run(Path(runs)) as run:
            run.save(1, [], saved, {}, {})
        assert same(read_checkpoint(find_run(runs, ID)).tensors, saved)


def test_a_file_has_the_bytes_that_safetensors_writes() -> None:
    names = ("float64", "int64", "float32", "bfloat16", "bool")
    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in names}
    tensors |= {"scalar": torch.tensor(1.5), "empty": torch.zeros(0, 3), "complex": torch.full((2,), 1 + 2j)}
    metadata = {"name": "β → ∞", "text": '{"a": "\\u003d"}'}
    ours = checkpoints._safetensors(tensors, metadata)
    assert same(load(ours), tensors)
    floats = {name: tensor for name, tensor in tensors.items() if tensor.dtype in (torch.float64, torch.float32)}
    assert checkpoints._safetensors(floats, {"name": "β"}) == save(floats, metadata={"name": "β"})


def test_lanes_of_a_stacked_tensor_are_stored_by_themselves(tmp_path: Path) -> None:
    stacked = torch.arange(24.0).reshape(2, 3, 4)
    saved = {
        "lane": stacked[1],
        "again": stacked[1],
        "transposed": stacked[0].T,
        "one": stacked[0, 0, 0].expand(5),
        "trained": stacked[0, 0].clone().requires_grad_(),
    }
    with open_run(tmp_path) as run:
        run.save(1, [], saved, {}, {})
        size = (run.path / "checkpoints" / "epoch-000000001.safetensors").stat().st_size
        checkpoint = run.latest_checkpoint()
    assert checkpoint is not None
    assert same(checkpoint.tensors, {name: t.detach() for name, t in saved.items()})
    assert size < 4 * (12 + 12 + 12 + 5 + 4) + 1024
    checkpoint.tensors["lane"].zero_()
    assert torch.equal(checkpoint.tensors["again"], torch.arange(12.0, 24.0).reshape(3, 4))


def test_metadata_comes_back_with_numbers_that_are_not_finite(tmp_path: Path) -> None:
    metadata = {"step": 7, "best": math.inf, "window": [1, 2.5, None], "name": "β → ∞"}
    with open_run(tmp_path) as run:
        run.save(1, [], {}, metadata, {})
        checkpoint = run.latest_checkpoint()
    assert checkpoint is not None
    assert checkpoint.metadata == metadata
    assert checkpoint.tensors == {}


def test_other_programs_can_read_a_checkpoint(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.save(1, [], {"W": torch.ones(2)}, {"step": 7}, {})
    with safe_open(tmp_path / ID / "checkpoints" / "epoch-000000001.safetensors", framework="pt") as file:
        assert file.metadata()["metadata"] == '{"step": 7}'
        assert torch.equal(file.get_tensor("W"), torch.ones(2))
