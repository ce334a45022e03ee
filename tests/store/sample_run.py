"""A run whose rows and tensors follow from the epoch alone, so that any state on disk can be checked for exactness."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from grokscope.store import RunFolder

ID = "3f9a1c"
CONFIG: dict[str, Any] = {
    "task": {"kind": "modular", "p": 59, "distractors": 2},
    "prior": {"kind": "kl", "beta": 0.3},
    "seed": 0,
}
EVERY = 2
"""Epochs between saves."""


def open_run(runs: Path, id: str = ID, config: dict[str, Any] = CONFIG) -> RunFolder:
    return RunFolder.create_or_open(runs, id, config, device="cpu")


def row(epoch: int) -> dict[str, float | int | None]:
    return {"epoch": epoch, "loss": 1 / (1 + epoch), "steps": 3 * epoch}


def tensors(epoch: int) -> dict[str, torch.Tensor]:
    weights = torch.arange(12.0).reshape(3, 4) / 7 + epoch
    return {"W_Q": weights, "optim.mean.W_Q": weights.to(torch.bfloat16), "generator": torch.tensor([epoch, 2**62])}


def save_next(folder: RunFolder, **options: Any) -> None:
    """Train and save the next few epochs."""
    start = folder.state.epoch
    epoch = start + EVERY
    rows = [row(e) for e in range(start + 1, epoch + 1)]
    folder.save(epoch, rows, tensors(epoch), {"step": 10 * epoch}, {"t_mem": epoch / 2}, seconds=epoch / 4, **options)


def check_exact(folder: RunFolder) -> int:
    """Assert that an opened folder is exactly where its checkpoint is; the epoch of it."""
    epoch = folder.state.epoch
    checkpoint = folder.latest_checkpoint()
    if checkpoint is None:
        assert epoch == 0
    else:
        assert (checkpoint.epoch, checkpoint.metadata) == (epoch, {"step": 10 * epoch})
        assert (folder.state.seconds, folder.state.summary) == (epoch / 4, {"t_mem": epoch / 2})
        assert same(checkpoint.tensors, tensors(epoch))
    assert folder.metrics().to_pylist() == [row(e) for e in range(1, epoch + 1)]
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    assert not [path for path in files if path.name.endswith(".tmp")]
    newest = [path for path in files if path.name.startswith("epoch-")]
    assert len(newest) <= 1
    return epoch


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    """Equal names, types, shapes and bits."""
    return a.keys() == b.keys() and all(
        a[name].dtype == b[name].dtype
        and a[name].shape == b[name].shape
        and torch.equal(_bits(a[name]), _bits(b[name]))
        for name in a
    )


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    # NaN is not equal to itself, and 0.0 equals -0.0: compare bytes.
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def content(folder: Path) -> dict[str, str]:
    """Every file below a folder with a hash of its bytes; folders with a mark of their own."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }
