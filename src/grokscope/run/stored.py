"""A stored run as an object: settings, metrics, data rebuilt from its seed, and its network at any checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis import times_of, unreached
from ..config import RunConfig, read_stored
from ..errors import ConfigError, StoreError
from ..fleet.data import lane_data, with_plan
from ..fleet.start import starting_point
from ..priors.kl import KL
from ..store import RunInfo, find_run, kept_epochs, read_checkpoint, read_metrics
from ..tickets import Origin
from ..tickets.base import FromRun
from .clamped import attention_at_branch, began_at
from .network import Network

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from ..fleet.data import AtBranch
    from ..tasks import Split


@dataclass(frozen=True)
class StoredRun:
    """One run in a folder of runs."""

    info: RunInfo

    @classmethod
    def find(cls, runs: str | Path, prefix: str) -> StoredRun:
        """The run whose id begins with `prefix`."""
        return cls(find_run(runs, prefix))

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def runs(self) -> Path:
        """The folder of runs that contains it."""
        return self.info.path.parent

    @cached_property
    def config(self) -> RunConfig:
        return read_stored(self.info.config, self.info.id)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per evaluation."""
        return read_metrics(self.info).to_pandas()

    @cached_property
    def split(self) -> Split:
        """Training and test examples, rebuilt from the seed."""
        return self.config.task.split(self.config.seed_for("data"))

    @cached_property
    def epochs(self) -> list[int]:
        """Epochs of the checkpoints; a run with `log.keep` has more than the last one."""
        return kept_epochs(self.info)

    @property
    def diverged(self) -> bool:
        """Whether training ended because the loss was not finite."""
        return self.info.status == "diverged"

    @cached_property
    def finite_epochs(self) -> list[int]:
        """Epochs of the checkpoints whose weights are finite; all of them, unless the run diverged."""
        return [epoch for epoch in self.epochs if not self.diverged or self.network(epoch).is_finite]

    def network(self, epoch: int | None = None) -> Network:
        """The network at a checkpoint, the newest by default."""
        tensors = read_checkpoint(self.info, epoch).tensors
        return Network.from_tensors(self.config, tensors, self._at_branch, began_at(self.info))

    def start(self) -> Network:
        """The network before the first step, rebuilt from the seed and, if it had one, its ticket."""
        shape, origin = self.config.task.shape, ticket_origin(self.config, self.runs)
        train, *_ = lane_data(self.config, at_branch=self._at_branch)
        train = with_plan(train, shape.vocabulary, max(shape.length, shape.test_length))
        begun = starting_point(self.config, train, origin)
        weights = self.config.ticket.effective(begun.weights)
        return Network(config=self.config, weights=weights, mask=begun.mask, at_branch=self._at_branch)

    @property
    def _at_branch(self) -> AtBranch | None:
        return attention_at_branch(self.config, self.info.path)

    def checkpoint_from(self, epoch: int | str) -> int | None:
        """The epoch of a checkpoint by number, "last" (None, the newest), or a time such as "t_grok": the first checkpoint kept at
        or after it. "plateau" is the one nearest to the middle between t_mem and t_grok, or the run's last epoch."""
        if epoch == "last":
            return None
        if isinstance(epoch, int):
            return epoch
        if epoch == "plateau":
            return self._on_plateau()
        since = getattr(times_of(self.info), epoch)
        if since is None:
            raise StoreError(f"run {self.id} has no {epoch}: {unreached(self.info.status, self.info.epoch, 'reached')}")
        kept = [saved for saved in self.epochs if saved >= since]
        if not kept:
            raise StoreError(f"run {self.id} kept no checkpoint after {epoch} = {since}; train it with log.keep")
        return kept[0]

    def _on_plateau(self) -> int:
        times = times_of(self.info)
        if times.t_mem is None:
            raise StoreError(
                f"run {self.id} has no plateau: {unreached(self.info.status, self.info.epoch, 'memorised')}"
            )
        begin, end = times.t_mem, self.info.epoch if times.t_grok is None else times.t_grok
        kept = [saved for saved in self.epochs if begin <= saved < end]
        if not kept:
            raise StoreError(f"run {self.id} kept no checkpoint between epochs {begin} and {end}; use log.keep")
        return min(kept, key=lambda saved: abs(saved - (begin + end) / 2))


def teacher_of(config: RunConfig, runs: str | Path) -> StoredRun | None:
    """The run whose attention is the target of this one's prior; ConfigError if it reads other sequences."""
    if not (isinstance(config.prior, KL) and config.prior.target == "teacher"):
        return None
    teacher = _source(runs, config.prior.teacher, "prior.teacher", "a teacher")
    mine, other = config.task.shape, teacher.config.task.shape
    if (mine.vocabulary, mine.length) != (other.vocabulary, other.length):
        raise ConfigError("prior.teacher", f"run {teacher.id} was trained on other sequences than those of this task")
    if not teacher.config.model.has_attention:
        raise ConfigError("prior.teacher", f"run {teacher.id} is a {teacher.config.model.kind} without attention")
    return teacher


def teacher_attention(config: RunConfig, runs: str | Path, epoch: int | None = None) -> Tensor | None:
    """The attention of the teacher on this run's training sequences, at the checkpoint of `epoch` or its newest; None without a
    teacher."""
    teacher = teacher_of(config, runs)
    if teacher is None:
        return None
    return teacher.network(epoch).attention(config.task.split(config.seed_for("data")).train)


def origin_of(config: RunConfig, runs: str | Path) -> StoredRun | None:
    """The run that this one's ticket comes from; ConfigError if it has other weights."""
    if not isinstance(config.ticket, FromRun):
        return None
    source = _source(runs, config.ticket.run, "ticket.run", "the origin of a ticket")
    mine, other = (c.model.parameters(c.task.shape) for c in (config, source.config))
    if {name: p.shape for name, p in mine.items()} != {name: p.shape for name, p in other.items()}:
        raise ConfigError("ticket.run", f"run {source.id} has other weights than this model")
    epoch = source.checkpoint_from(config.ticket.epoch)
    if epoch not in (None, *source.epochs):
        kept = ", ".join(map(str, source.epochs))
        raise StoreError(f"run {source.id} has no checkpoint of epoch {epoch}, only of {kept}")
    return source


def _source(runs: str | Path, id: str, field: str, purpose: str) -> StoredRun:
    """The run that a setting refers to; ConfigError if it diverged: nothing can be computed from weights that are not finite."""
    source = StoredRun.find(runs, id)
    if source.diverged:
        raise ConfigError(field, f"run {source.id} diverged at epoch {source.info.epoch}: it cannot be {purpose}")
    return source


def ticket_origin(config: RunConfig, runs: str | Path) -> Origin | None:
    """That run's weights before the first step and at the ticket's epoch, and its mask; None without such a ticket."""
    source = origin_of(config, runs)
    if source is None:
        return None
    assert isinstance(config.ticket, FromRun)
    trained = source.network(source.checkpoint_from(config.ticket.epoch))
    return Origin(source.start().weights, trained.weights, dict(trained.mask))
