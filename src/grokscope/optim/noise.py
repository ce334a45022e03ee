"""Noise in training: on the weights that the loss is computed with, and in the labels.

Weight noise is drawn anew at every step and added for the forward and the backward pass alone (An 1996). Labels are wrong either
permanently (a corrupted training set, as in Zhang et al. 2017) or anew at every step (label-noise SGD, Blanc et al. 2020). Neither
reaches the evaluation: accuracies and measures are those of the network on the true test set, and of the training set with the
labels that were drawn once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from ..randomness import Key, stream
from ..settings import Settings, require

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Noise(Settings):
    """Noise on weights and labels; off by default."""

    weights: float = 0.0
    """Standard deviation of Gaussian noise on every weight, at every step."""
    labels: float = 0.0
    """Fraction of the training labels that is replaced by a random class."""
    redraw: Literal["once", "every-step"] = "once"
    """Whether these labels are drawn once, or anew at every step."""

    LANES: ClassVar[tuple[str, ...]] = ("weights", "labels")

    def check(self) -> None:
        require(self.weights >= 0, "weights", f"{self.weights} is below 0")
        require(0 <= self.labels <= 1, "labels", f"{self.labels} is outside [0, 1]")

    def structure(self) -> dict[str, Any]:
        return {"weights": self.weights > 0, "labels": self.labels > 0 and self.redraw}

    @property
    def in_steps(self) -> bool:
        """Whether a step is random."""
        return self.weights > 0 or (self.labels > 0 and self.redraw == "every-step")

    def labels_once(self, labels: Tensor, classes: int, seed: int) -> Tensor:
        """The labels that a run trains on throughout."""
        if not self.labels or self.redraw != "once":
            return labels
        generator = stream(seed, "label noise")
        wrong = torch.rand(labels.shape, generator=generator) < self.labels
        return torch.where(wrong, torch.randint(classes, labels.shape, generator=generator), labels)

    def labels_now(self, labels: Tensor, classes: int, key: Key) -> Tensor:
        """The labels of one step."""
        shape = tuple(labels.shape)
        wrong = key.uniform("label noise", shape) < self.labels
        drawn = (key.uniform("wrong labels", shape) * classes).long().clamp(max=classes - 1)
        return torch.where(wrong, drawn, labels)

    def weights_now(self, weights: dict[str, Tensor], key: Key) -> dict[str, Tensor]:
        """The weights that the loss of one step is computed with."""
        return {
            name: weight + self.weights * key.fold(name).normal("weight noise", tuple(weight.shape)).to(weight.dtype)
            for name, weight in weights.items()
        }
