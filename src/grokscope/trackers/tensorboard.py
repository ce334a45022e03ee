"""TensorBoard: one folder of event files per run, in `tensorboard/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..settings import flatten
from .base import Row, finite, imported, trackers

FOLDER = Path("tensorboard")


@trackers.register("tensorboard")
class TensorBoard:
    """Scalars of every column, by epoch; the settings as text."""

    def __init__(self, name: str, config: Mapping[str, Any]):
        imported("tensorboard", "tensorboard")
        self.writer = imported("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(FOLDER / name))
        settings = "\n".join(f"    {key} = {value}" for key, value in flatten(config).items())
        self.writer.add_text("settings", settings)

    def log(self, row: Row) -> None:
        for name, value in finite(row).items():
            self.writer.add_scalar(name, value, int(row["epoch"]))

    def finish(self) -> None:
        self.writer.close()
