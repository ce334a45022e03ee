"""The state of a run: the content of state.json, and of the same record inside every checkpoint."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .disk import damaged
from .layout import STATE, run_file
from .seal import read_sealed_json

FINISHED = ("done", "grokked", "diverged")
"""Statuses of a run that needs no more training."""
STATUSES = ("running", "stopped", "failed", *FINISHED)


@dataclass(frozen=True, kw_only=True)
class State:
    """State of a run. A checkpoint contains the state it was saved with, so that a kill between checkpoint and state.json does
    not lose it: `serial` tells which of the two is newer."""

    status: str = "running"
    """One of STATUSES."""
    epoch: int = 0
    """Epoch of the newest checkpoint; 0 before the first."""
    seconds: float = 0.0
    """Training time so far."""
    rows: int = 0
    """Rows of the metric table up to `epoch`; fewer on disk means that a part is lost."""
    serial: int = 0
    """Number of times the state was set."""
    kept: list[int] = field(default_factory=list)
    """Epochs of the checkpoints that are kept permanently; one that is not on disk is lost."""
    added: list[str] = field(default_factory=list)
    """Measures that were added after training; one that is not on disk is lost."""
    summary: dict[str, Any] = field(default_factory=dict)
    """The caller's numbers, such as t_mem, t_grok, train_accuracy and test_accuracy."""
    reason: str = ""
    """Why the run failed, if it did. A failed run continues from its last checkpoint when it is requested again."""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status {self.status!r} is none of {', '.join(STATUSES)}")

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; a number that is not finite becomes null."""
        plain: dict[str, Any] = _finite(vars(self))
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> State:
        """Raises TypeError or ValueError when `plain` is not a state."""
        missing = _REQUIRED - plain.keys()
        if missing:
            raise ValueError(f"{', '.join(sorted(missing))} missing")
        for name, kind in _KINDS.items():
            if name in plain and not isinstance(plain[name], kind):
                raise TypeError(f"{name} is {plain[name]!r}")
        return cls(**plain)


_KINDS: dict[str, Any] = {
    "status": str,
    "epoch": int,
    "seconds": (int, float),
    "rows": int,
    "serial": int,
    "kept": list,
    "added": list,
    "summary": dict,
    "reason": str,
}
_REQUIRED = _KINDS.keys() - {"reason"}


def read_state(run: Path) -> State:
    path, label = run_file(run, STATE)
    plain = read_sealed_json(path, label)
    try:
        return State.from_dict(plain)
    except (TypeError, ValueError) as error:
        raise damaged(path, error) from error


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
