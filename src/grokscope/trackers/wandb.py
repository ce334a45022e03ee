"""Weights & Biases, and trackio, which has the same interface. Both work without a network: W&B runs are stored offline unless
WANDB_MODE says otherwise, and `wandb sync` uploads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..settings import flatten
from .base import Row, Tracker, finite, imported, trackers

PROJECT = "grokscope"


class Exporter:
    """A run object of a package with `init`, `log` and `finish`."""

    def __init__(self, run: Any):
        self.run = run

    def log(self, row: Row) -> None:
        self.run.log(finite(row), step=int(row["epoch"]))

    def finish(self) -> None:
        self.run.finish()


@trackers.register("wandb")
def wandb(name: str, config: Mapping[str, Any]) -> Tracker:
    """Weights & Biases, offline by default."""
    mode = os.environ.get("WANDB_MODE", "offline")
    return Exporter(
        imported("wandb", "wandb").init(
            project=PROJECT, name=name, config=flatten(config), mode=mode, reinit="create_new"
        )
    )


@trackers.register("trackio")
def trackio(name: str, config: Mapping[str, Any]) -> Tracker:
    """trackio, which keeps runs on this machine."""
    return Exporter(imported("trackio", "trackio").init(project=PROJECT, name=name, config=flatten(config)))
