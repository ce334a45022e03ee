"""Branches: the checkpoint of another run that a run starts from, with what its intervention changes at that moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError, StoreError
from ..fleet.acting import at_branch
from ..interventions.base import NoIntervention
from ..settings import require
from ..store import read_checkpoint, read_metrics
from .stored import StoredRun

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig


class Parent(NamedTuple):
    """The run that a branch starts from, and the epoch of its checkpoint."""

    run: StoredRun
    epoch: int

    def record(self) -> dict[str, Any]:
        """For the manifest of the branch."""
        return {"parent": {"run": self.run.id, "epoch": self.epoch}}


class Beginning(NamedTuple):
    """The first save of a branch."""

    epoch: int
    rows: list[dict[str, float]]
    """What was measured in the parent up to that epoch."""
    tensors: dict[str, Tensor]
    seconds: float


def parent_of(config: RunConfig, runs: str | Path) -> Parent | None:
    """The parent of a branch, after checking that the run can continue from it; None for a run that is no branch."""
    if not config.branch.run:
        return None
    parent = StoredRun.find(runs, config.branch.run)
    _check_weights(config, parent, "branch.run")
    for part in ("optim", "filter"):
        mine, other = getattr(config, part).kind, getattr(parent.config, part).kind
        fits = mine == other or "state" in config.do.hooks
        require(fits, part, f"run {parent.id} has the state of {other}, which {mine} cannot continue: add --do reset")
    acted = not isinstance(parent.config.do, NoIntervention)
    require(not acted, "branch.run", f"run {parent.id} is a branch with an intervention of its own; take its parent")
    epoch = branch_epoch(parent, config.branch.epoch)
    require(config.epochs > epoch, "epochs", f"{config.epochs} is not after the branch at epoch {epoch}")
    left = config.epochs - epoch
    for field, start in config.do.starts().items():
        late = f"{start} is not before the end of the run, {left} epochs after the branch; --set epochs={epoch + start + 1} or more"
        require(start < left, f"do.{field}", late)
    for field, (run, when) in config.do.donors().items():
        donor = StoredRun.find(runs, run)
        _check_weights(config, donor, f"do.{field}")
        branch_epoch(donor, when)
    return Parent(parent, epoch)


def branch_epoch(run: StoredRun, epoch: int | str) -> int:
    """The epoch of a kept checkpoint by number or by time; StoreError if there is none."""
    kept = run.epochs
    if not kept:
        raise StoreError(f"run {run.id} has no checkpoint yet")
    chosen = run.checkpoint_from(epoch)
    chosen = kept[-1] if chosen is None else chosen
    if chosen not in kept:
        near = sorted(sorted(kept, key=lambda own: abs(own - chosen))[:2])
        raise StoreError(
            f"run {run.id} kept no checkpoint of epoch {chosen}, the nearest are {' and '.join(map(str, near))}; "
            "log.keep keeps more"
        )
    if run.diverged and not run.network(chosen).is_finite:
        raise StoreError(f"run {run.id} diverged: its weights at epoch {chosen} are not finite")
    return chosen


def beginning(config: RunConfig, runs: str | Path, epoch: int) -> Beginning:
    """The parent's checkpoint and rows, after transplants and whatever else the intervention changes at the branch."""
    parent = StoredRun.find(runs, config.branch.run)
    saved = read_checkpoint(parent.info, epoch)
    parameters = config.ticket.with_scores(config.model.parameters(config.task.shape))
    donors = {}
    for field, (run, when) in config.do.donors().items():
        donor = StoredRun.find(runs, run)
        donors[field] = read_checkpoint(donor.info, branch_epoch(donor, when)).tensors
    tensors = at_branch(config, config.do.graft(saved.tensors, donors, parameters))
    table = read_metrics(parent.info)
    complete = [name for name in table.column_names if not table.column(name).null_count]
    rows = [row for row in table.select(complete).to_pylist() if row["epoch"] <= epoch]
    return Beginning(epoch, rows, tensors, saved.metadata.get("seconds", 0.0))


def _check_weights(config: RunConfig, other: StoredRun, field: str) -> None:
    mine, own = (c.ticket.with_scores(c.model.parameters(c.task.shape)) for c in (config, other.config))
    if {name: p.shape for name, p in mine.items()} != {name: p.shape for name, p in own.items()}:
        raise ConfigError(field, f"run {other.id} has other weights than this model")
