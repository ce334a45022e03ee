"""Which checkpoints a probe reads."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StoreError
from .base import StoredRun


def at_least(run: StoredRun, number: int) -> list[int]:
    """The epochs of the run's checkpoints with finite weights; StoreError if they are fewer."""
    epochs = run.finite_epochs
    if len(epochs) < number:
        have = f"{len(epochs)} checkpoint{'' if len(epochs) == 1 else 's'}"
        if len(epochs) < len(run.epochs):
            if not epochs:
                raise StoreError(f"run {run.id} diverged at epoch {run.info.epoch}: its weights are not finite")
            have += f" with finite weights (it diverged at epoch {run.info.epoch})"
        raise StoreError(f"run {run.id} has {have}, and this probe needs {number}: train it with log.keep")
    return epochs


def thinned(epochs: Sequence[int], most: int) -> list[int]:
    """At most this many of them, evenly spaced in order, including the first and the last."""
    if len(epochs) <= most:
        return list(epochs)
    return [epochs[round(place * (len(epochs) - 1) / (most - 1))] for place in range(most)]
