"""What a task is: settings, and examples drawn from a seed. Nothing about training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..registry import Registry
from ..settings import Settings
from ..shapes import Bool, Int

if TYPE_CHECKING:
    from torch import Tensor

tasks: Registry[type[Task]] = Registry("task", "grokscope.tasks")


class Examples(NamedTuple):
    """A set of sequences. The answer is read at the last position; its token is the last symbol of the vocabulary."""

    tokens: Int[Tensor, "example position"]
    labels: Int[Tensor, "example"]
    """One label an example, or one a position [example position] for next-token tasks (the last one is the answer)."""
    informative: Bool[Tensor, "example position"]
    """True where the label depends on the token."""


class Split(NamedTuple):
    train: Examples
    test: Examples


class Shape(NamedTuple):
    """All that decides tensor shapes: runs with equal shapes can train side by side."""

    vocabulary: int
    length: int
    """Tokens in a training sequence, the query included."""
    test_length: int
    """Tokens in a test sequence; longer than `length` when length generalisation is tested."""
    classes: int
    train_size: int
    test_size: int
    every_position: bool = False
    """Whether the loss is taken at every position (next-token) or at the query only."""


@dataclass(frozen=True, kw_only=True)
class Task(Settings):
    """Base of all tasks."""

    @property
    def shape(self) -> Shape:
        raise NotImplementedError

    def split(self, seed: int) -> Split:
        """Training and test examples. They depend on the settings and the seed, and on nothing else."""
        raise NotImplementedError
