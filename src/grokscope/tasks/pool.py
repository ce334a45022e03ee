"""Tasks whose examples lie on disk: a pool of them, from which the seed draws training and test examples."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from ..errors import ConfigError
from ..randomness import stream
from ..settings import require
from ..shapes import Int
from .base import Examples, Split, Task


@dataclass(frozen=True, kw_only=True)
class PoolTask(Task):
    """Real data. A subclass defines where to find them, reads them all, and converts the drawn ones to inputs."""

    folder: str = ""
    """Folder with the data; empty searches the locations of installed packages (docs/real-data.md)."""
    train_size: int = 1000
    """Number of training examples."""
    test_size: int = 2000
    """Number of test examples."""

    knows_informative: ClassVar[bool] = False
    NEEDED: ClassVar[str] = ""
    """For an error message: which package or which files have the data."""

    def usual_folder(self) -> Path | None:
        """Where a package puts the data, if it is installed."""
        raise NotImplementedError

    def holds_data(self, folder: Path) -> bool:
        """Whether the data are in a folder."""
        raise NotImplementedError

    def read(self, folder: Path) -> tuple[Tensor, Int[Tensor, "example"]]:
        """All examples as they are stored, and their labels; a process reads them once."""
        raise NotImplementedError

    def inputs(self, stored: Tensor) -> Tensor:
        """Stored examples as the inputs of a model."""
        return stored

    def check(self) -> None:
        for field in ("train_size", "test_size"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")

    def require_data(self) -> None:
        self._pool()

    def split(self, seed: int) -> Split:
        stored, labels = self._pool()
        sizes = [self.train_size, self.test_size]
        order = torch.randperm(len(labels), generator=stream(seed, "split"))[: sum(sizes)]
        return Split(*(Examples(self.inputs(stored[rows]), labels[rows]) for rows in order.split(sizes)))

    def _pool(self) -> tuple[Tensor, Int[Tensor, "example"]]:
        folder = Path(self.folder).expanduser() if self.folder else self.usual_folder()
        if folder is None or not self.holds_data(folder):
            where = f"in {self.folder}" if self.folder else "on this machine"
            raise ConfigError("task.folder", f"no data for task {self.kind} {where}. {self.NEEDED}")
        stored, labels = self.read(folder)
        train, test, there = self.train_size, self.test_size, len(labels)
        require(
            train + test <= there, "task.test_size", f"{test} and {train} training examples, but there are only {there}"
        )
        return stored, labels


def package_folder(package: str) -> Path | None:
    """Where an installed package keeps its files; it is not imported."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None
