"""Labels drawn anew in mid-run: the loss of a memorised example is alive again, and says nothing about the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..randomness import Key
from ..settings import require
from .base import Now, Tensors, Timed, interventions

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig


@interventions.register("labels")
@dataclass(frozen=True, kw_only=True)
class Labels(Timed):
    """A fraction of the training labels is replaced by random classes; accuracies are those on the true labels."""

    strength: float = 0.1
    """Fraction of the labels."""
    redraw: Literal["once", "every-step"] = "every-step"
    """Whether they are drawn once for the whole window, or anew at every step."""

    LANES: ClassVar[tuple[str, ...]] = (*Timed.LANES, "strength")

    def check(self) -> None:
        super().check()
        require(0 <= self.strength <= 1, "strength", f"{self.strength} is outside [0, 1]")

    def check_run(self, config: RunConfig) -> None:
        require(not config.task.shape.regression, "kind", f"task {config.task.kind} has no classes to draw from")
        whole = self.redraw == "every-step" or not config.batch_size
        require(whole, "redraw", "labels drawn once need the full batch: set batch_size = 0")

    def batch(self, batch: Tensors, now: Now, symbols: tuple[Tensor, Tensor], classes: int) -> Tensors:
        key, labels = key_of(now, self.redraw), batch["labels"]
        shape = tuple(labels.shape)
        chosen = self.active(now) & (key.uniform("resampled labels", shape) < self.strength)
        drawn = (key.uniform("new labels", shape) * classes).long().clamp(max=classes - 1)
        return batch | {"labels": torch.where(chosen, drawn, labels)}


def key_of(now: Now, redraw: str) -> Key:
    """A key that changes at every step, or never."""
    return now.key if redraw == "every-step" else now.key._replace(step=torch.zeros_like(now.key.step))
