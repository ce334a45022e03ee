"""Base class of tasks: settings, and examples drawn from a seed. Independent of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..registry import Registry
from ..scores import ACCURACY, R_SQUARED
from ..settings import Settings
from ..shapes import Bool, Float, Int

if TYPE_CHECKING:
    from torch import Tensor

tasks: Registry[type[Task]] = Registry("task", "grokscope.tasks")


class Examples(NamedTuple):
    """A set of inputs with their labels. Of a sequence the answer is read at the last position."""

    inputs: Int[Tensor, "example position"] | Float[Tensor, "example feature"]
    """Sequences of tokens, or vectors of real numbers."""
    labels: Int[Tensor, "example"] | Float[Tensor, "example"]
    """One class per example, or per position [example position] for next-token tasks (the last one is the answer); a real
    number for regression."""
    informative: Bool[Tensor, "example position"] | None = None
    """True where the label depends on the token; None if unknown."""

    @property
    def marked(self) -> Bool[Tensor, "example position"]:
        """`informative`, which must be known."""
        assert self.informative is not None
        return self.informative

    def part(self, begin: int, end: int) -> Examples:
        """Examples `begin` … `end` − 1."""
        return Examples(*(None if field is None else field[begin:end] for field in self))  # type: ignore[arg-type]


class Split(NamedTuple):
    train: Examples
    test: Examples


class SetAside(NamedTuple):
    """Training examples that a run is not trained on; None where there are none."""

    validation: Examples | None = None
    """The run is evaluated on them."""
    confirmation: Examples | None = None
    """No evaluation reads them: for one test after all choices have been made."""


class Shape(NamedTuple):
    """The sizes that determine tensor shapes: runs with equal shapes can train in one program."""

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
    features: int = 0
    """Length of the vectors, where inputs are vectors; 0 for tokens (vectors have no vocabulary and no length)."""
    regression: bool = False
    """Whether the answer is a real number (one output) or a class."""
    validation_size: int = 0
    """Examples of the training set that are set aside for validation; `train_size` does not count them."""


@dataclass(frozen=True, kw_only=True)
class Task(Settings):
    """Base of all tasks."""

    knows_informative: ClassVar[bool] = True
    """Whether its examples have informative-token labels."""

    @property
    def shape(self) -> Shape:
        raise NotImplementedError

    def require_data(self) -> None:
        """Raise ConfigError if the data of the task are not on this machine; called before a run is written."""

    def split(self, seed: int) -> Split:
        """Training and test examples. They depend on the settings and the seed, and on nothing else."""
        raise NotImplementedError

    def set_aside(self, seed: int) -> SetAside:
        """The examples that were taken out of the training set."""
        return SetAside()


def score_name(settings: Mapping[str, Any]) -> str:
    """`accuracy`, or `R²` where answers are real numbers, from the settings of a run, nested or flat. An unknown task has
    accuracies."""
    if settings.get("loss") != "mse":  # all that regression allows; to look further, PyTorch is imported
        return ACCURACY
    task = settings.get("task")
    kind = task.get("kind") if isinstance(task, Mapping) else settings.get("task.kind", task)
    entry = tasks.entries().get(str(kind))
    return R_SQUARED if entry is not None and entry().shape.regression else ACCURACY
