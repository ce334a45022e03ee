"""Polynomial regression (Kumar et al. 2023; grokking tickets, App. C): a square that depends on one direction of the input.

x ~ N(0, I/D), so that inputs have length about 1, and y = (β·x)²/2 with β ~ N(0, I) drawn from the seed. Kumar et al. have
D = 100 and about 500 examples: enough to find β, far fewer than the D²/2 that fixed quadratic features would need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from ..randomness import stream
from ..settings import require
from ..shapes import Float, checked
from .base import Examples, Shape, Split, Task, tasks


@tasks.register("polynomial")
@dataclass(frozen=True, kw_only=True)
class Polynomial(Task):
    """y = (β·x)²/2, a real number. Its accuracy is R², the share of the variance that is explained."""

    dimension: int = 100
    """D, the length of the input vectors."""
    train_size: int = 450
    """Number of training examples."""
    test_size: int = 1000
    """Number of test examples."""

    knows_informative: ClassVar[bool] = False

    @property
    def shape(self) -> Shape:
        return Shape(
            vocabulary=0,
            length=0,
            test_length=0,
            classes=1,
            train_size=self.train_size,
            test_size=self.test_size,
            features=self.dimension,
            regression=True,
        )

    def check(self) -> None:
        require(self.dimension >= 1, "dimension", f"{self.dimension} is below 1")
        for field in ("train_size", "test_size"):
            require(
                getattr(self, field) >= 2, field, f"{getattr(self, field)} is below 2; R² needs two answers to differ"
            )

    def split(self, seed: int) -> Split:
        beta = torch.randn(self.dimension, generator=stream(seed, "target"))
        train = self._examples(beta, self.train_size, stream(seed, "train inputs"))
        return Split(train, self._examples(beta, self.test_size, stream(seed, "test inputs")))

    def _examples(self, beta: Tensor, size: int, generator: Generator) -> Examples:
        x = torch.randn(size, self.dimension, generator=generator) / math.sqrt(self.dimension)
        return Examples(x, target(x, beta))


@checked
def target(x: Float[Tensor, "example feature"], beta: Float[Tensor, "feature"]) -> Float[Tensor, "example"]:
    """y = (β·x)²/2"""
    return (x @ beta).square() / 2
