"""Runs on their way through a fleet: a job waits, is prepared, and trains in a lane; a sink stores its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .data import AtBranch, Batch, lane_data
from .guard import no_randomness_at_start
from .stopping import Row, StopRule

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tickets import Origin


class FinishedError(Exception):
    """The run is already finished, for example by another process."""


class Sink(Protocol):
    """Destination of a run's results; the store provides one."""

    def resume(self) -> tuple[int, dict[str, Any], Mapping[str, Tensor]] | None:
        """Epoch, metadata and tensors of the last save, if any; the metadata of a branch name the epoch at which it began as
        "since". FinishedError if there is nothing left to train, BusyError if another process trains the run."""

    def save(
        self,
        *,
        epoch: int,
        rows: list[Row],
        tensors: Mapping[str, Tensor],
        metadata: dict[str, Any],
        status: str,
        keep: bool,
    ) -> None:
        """Save the rows measured since the last save, and the state to continue from."""

    def append(self, rows: list[Row]) -> None:
        """Show rows, which will be saved later, to whoever watches the run. A save may be in progress. Never raises."""

    def fail(self, reason: str) -> None:
        """Store why the run cannot continue, as far as that is possible, and release the sink. Never raises."""

    def close(self) -> None:
        """Release the sink; nothing is saved after this call."""


@dataclass(kw_only=True)
class Job:
    """A run to be trained."""

    config: RunConfig
    sink: Sink
    origin: Callable[[], Origin | None] | None = None
    """Returns the run that the ticket comes from."""
    target: Callable[[], Tensor | None] | None = None
    """Returns the target of the prior on the training set if the prior cannot compute it (a teacher's attention)."""
    at_branch: AtBranch | None = None
    """Returns the attention of the network at the branch; called after `sink.resume`."""


class PreparedRun(NamedTuple):
    """A run ready to be loaded into a lane."""

    saved: tuple[int, dict[str, Any], Mapping[str, Tensor]] | None
    data: tuple[Batch, ...]
    origin: Origin | None


def prepare(job: Job) -> PreparedRun:
    saved = job.sink.resume()
    with no_randomness_at_start():
        data = lane_data(job.config, job.target() if job.target else None, job.at_branch)
    return PreparedRun(saved, data, job.origin() if job.origin and saved is None else None)


@dataclass(kw_only=True)
class Lane:
    """A job that is being trained."""

    job: Job
    stop_rule: StopRule
    epoch: int = 0
    next_due: int = 0
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    """Measured but not saved yet."""
    unseen: list[Row] = field(default_factory=list)
    """Measured but not appended yet."""
    last: Row = field(default_factory=dict)
    status: str = "running"
    saving: Future[None] | None = None
    """The last save."""
    saved: int = 0
    """Epoch of the last save."""

    @property
    def unmeasured(self) -> bool:
        """Whether the evaluation due at this epoch is still missing."""
        return self.epoch == self.next_due and self.last.get("epoch") != self.epoch

    @property
    def phase(self) -> int:
        """Epochs since the last regular evaluation."""
        return self.epoch % self.job.config.log.every


class Failures(Protocol):
    """Receives runs that end before they are finished. Called from the fleet's thread."""

    def busy(self, job: Job, error: Exception) -> None:
        """Another process trains the run."""

    def failed(self, job: Job, error: Exception) -> None:
        """The run failed; the others continue."""


class Progress(Protocol):
    """Receives the state of all lanes after every evaluation."""

    def update(self, lanes: list[Lane], waiting: int) -> None: ...
