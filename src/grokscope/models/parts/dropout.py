"""Dropout (Srivastava et al. 2014) whose randomness is an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...settings import require

if TYPE_CHECKING:
    from torch import Tensor

    from ...randomness import Key


class Dropout(NamedTuple):
    """Sets each number to 0 with probability `rate` and divides the others by 1 − rate, which keeps the mean.

    Only in training. Which numbers are dropped follows from the run's seed, the step and the layer.
    """

    rate: float
    training: bool
    key: Key | None

    def __call__(self, x: Tensor, layer: int = 0) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if self.key is None:
            raise ValueError(
                "dropout in training needs a key, the source of its randomness: forward(…, key=Key(seed, step))"
            )
        keep = self.key.fold(f"layer {layer}").uniform("dropout", tuple(x.shape)) >= self.rate
        return x * keep / (1 - self.rate)


def check_dropout(rate: float) -> None:
    """Raise ConfigError unless `rate` is a probability below 1."""
    require(0 <= rate < 1, "dropout", f"{rate} is outside [0, 1)")
