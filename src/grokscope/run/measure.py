"""Evaluation of measures that were added after a run was trained, on its kept checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from ..config import RunConfig
from ..fleet.data import lane_data
from ..fleet.program import Program
from ..measures import measures
from ..store import RunFolder, added_measures, read_checkpoint
from .clamped import attention_at_branch, began_at
from .stored import teacher_attention

if TYPE_CHECKING:
    from .stored import StoredRun


class Added(NamedTuple):
    """Measurements of a finished run."""

    measures: list[str]
    columns: list[str]
    """New columns of its metric table; empty if no measure applies to the run."""
    epochs: list[int]
    """Of the checkpoints; other rows of these columns stay empty."""


def missing_measures(run: StoredRun) -> list[str]:
    """Registered measures that a run was trained without and that were not added since.

    Runs stored before measures were recorded count as trained with those that come with grokscope.
    """
    known = run.info.manifest.get("measures")
    built_in = [name for name, measure in measures.entries().items() if measure.__module__.startswith("grokscope.")]
    return sorted(
        set(measures.entries()) - set(built_in if known is None else known) - set(added_measures(run.info.path))
    )


def add_missing(run: StoredRun) -> Added | None:
    """Evaluate them at every checkpoint that the run still has, and store the results; None if none is missing."""
    missing = missing_measures(run)
    if not missing:
        return None
    config, info = run.config, run.info
    target = teacher_attention(config, run.runs, info.manifest.get("teacher_epoch"))
    program = Program(config, 1, torch.device("cpu"))
    data = lane_data(config, target, attention_at_branch(config, info.path))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in missing}
    for epoch in run.epochs:
        program.load(0, config, data, read_checkpoint(info, epoch).tensors, since=began_at(info))
        by_measure = program.evaluate_by_measure(missing)
        for name, values in by_measure.items():
            found[name].append({"epoch": epoch} | {column: value[0] for column, value in values.items()})
    folder = RunFolder.create_or_open(run.runs, run.id, info.config, device="", identity=RunConfig.identity_of)
    with folder:
        for name, rows in found.items():
            folder.add_measure(name, rows)
    columns = sorted({column for rows in found.values() for row in rows for column in row} - {"epoch"})
    return Added(missing, columns, run.epochs)
