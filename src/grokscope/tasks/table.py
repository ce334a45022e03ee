"""Tasks whose examples are rows of a table: which rows there are, and how the seed splits them.

The table holds every combination of the values its columns can take. Where it fits it is used whole; where it does not,
distinct rows are sampled from it, so that train and test never share one.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

from torch import Generator, Tensor

from ..errors import ConfigError
from ..randomness import stream
from ..settings import require, setting
from ..shapes import Int
from .base import Examples, SetAside, Shape, Split, Task
from .draws import LARGEST_TABLE, draw

SAMPLE = 2**14
"""Of a sampled table, `train_fraction` is taken of so many rows."""
TEST_SAMPLE = 2**12
"""Test examples of a sampled table, where `test_size` does not say."""

MOST_OPERANDS = 100_000
"""Most tokens that a label may depend on; what a row is made of is listed before it is drawn."""

Part = Literal["train", "test"]


@dataclass(frozen=True, kw_only=True)
class TableTask(Task):
    """Sequences whose label depends on k informative tokens, the operands; the other tokens are distractors.

    A subclass defines the columns, and converts rows to sequences.
    """

    positions: tuple[int, ...] = ()
    """Positions of the operands in a training sequence, in order, counted from 0; empty means the first k."""
    test_distractors: int | None = None
    """Distractors in a test sequence: none means as many as in training, more tests length generalisation.
    Positions count back from the query, so the additional ones stand on the left."""
    train_fraction: float = 0.3
    """Fraction of the table to train on. For a table of more than 131072 rows: fraction of 16384 sampled rows."""
    train_size: int | None = None
    """Number of training examples; overrides `train_fraction`."""
    test_size: int | None = None
    """Number of test examples; none means all the rest, or 4096 where the table has more than 131072 rows."""
    validation: float = setting(0.0, since=2)
    """Fraction of the training examples that is set aside: the run is not trained on them, but evaluated (val_loss, val_accuracy),
    and the stop rule reads their accuracy instead of the test accuracy."""
    confirmation: float = setting(0.0, since=2)
    """Fraction of the training examples that is set aside and that no evaluation reads: for one test at the end of a search."""

    @property
    def columns(self) -> tuple[range, ...]:
        """The values that each column of the table takes."""
        raise NotImplementedError

    @property
    def k(self) -> int:
        """Number of operands."""
        raise NotImplementedError

    @property
    def distractors(self) -> int:
        """Number of distractors in a training sequence."""
        raise NotImplementedError

    @property
    def vocabulary(self) -> int:
        """Number of symbols; the last one is "="."""
        raise NotImplementedError

    @property
    def classes(self) -> int:
        """Number of different labels."""
        raise NotImplementedError

    def label(self, rows: Int[Tensor, "row column"]) -> Int[Tensor, "row"]:
        """The answer to each row."""
        raise NotImplementedError

    def draw(self, count: int, generator: Generator) -> Int[Tensor, "row column"]:
        """`count` distinct rows of the table, in random order."""
        return draw(self.columns, count, generator)

    def examples(self, rows: Int[Tensor, "row column"], distractors: int, part: Part, seed: int) -> Examples:
        """Rows as sequences with the given number of distractors. Other randomness comes from streams of the seed, by part."""
        raise NotImplementedError

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of the operands in a training sequence."""
        return self.positions or tuple(range(self.k))

    @property
    def distractors_at_test(self) -> int:
        return self.distractors if self.test_distractors is None else self.test_distractors

    @property
    def rows(self) -> int:
        """Number of rows in the whole table."""
        return math.prod(len(column) for column in self.columns)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of training and of test examples."""
        whole = self.rows <= LARGEST_TABLE
        train = self.train_size
        if train is None:
            train = int(self.train_fraction * (self.rows if whole else SAMPLE))
        test = self.test_size
        if test is None:
            test = self.rows - train if whole else min(self.rows - train, TEST_SAMPLE)
        return train, test

    @property
    def set_aside_sizes(self) -> tuple[int, int]:
        """Number of training examples set aside for validation and for confirmation."""
        train, _ = self.sizes
        return int(self.validation * train), int(self.confirmation * train)

    @functools.cached_property  # asked for several times per run
    def shape(self) -> Shape:
        train, test = self.sizes
        validation, confirmation = self.set_aside_sizes
        return Shape(
            vocabulary=self.vocabulary,
            length=self.k + self.distractors + 1,
            test_length=self.k + self.distractors_at_test + 1,
            classes=self.classes,
            train_size=train - validation - confirmation,
            test_size=test,
            validation_size=validation,
        )

    def check(self) -> None:
        self._check_positions()
        self._check_sizes()

    def _check_positions(self) -> None:
        require(self.distractors >= 0, "distractors", f"{self.distractors} is below 0")
        require(
            self.distractors_at_test >= self.distractors,
            "test_distractors",
            f"{self.test_distractors} is fewer than the {self.distractors} of training",
        )
        tokens = self.k + self.distractors
        count = len(self.places)
        require(count <= tokens, "positions", f"{count} positions are more than the {tokens} tokens before the query")
        require(count == self.k, "positions", f"{count} positions for {self.k} operands")
        require(len(set(self.places)) == count, "positions", f"{self.places} names a position twice")
        for place in self.places:
            require(0 <= place < tokens, "positions", f"{place} is outside 0 … {tokens - 1}: the query comes next")

    def _check_sizes(self) -> None:
        fraction, rows = self.train_fraction, self.rows
        require(0 < fraction < 1, "train_fraction", f"{fraction} is outside (0, 1)")
        require(self.train_size is None or self.train_size >= 1, "train_size", f"{self.train_size} is below 1")
        require(self.test_size is None or self.test_size >= 1, "test_size", f"{self.test_size} is below 1")
        train, test = self.sizes
        field = "train_fraction" if self.train_size is None else "train_size"
        require(train >= 1, field, f"{getattr(self, field)} leaves no training example")
        if train >= rows:
            raise ConfigError(field, f"{getattr(self, field)} of {rows} rows leaves no test example")
        if train + test > rows:
            raise ConfigError("test_size", f"{test} and {train} training examples are more than the {rows} rows")
        for name, count in zip(("validation", "confirmation"), self.set_aside_sizes, strict=True):
            part = getattr(self, name)
            require(0 <= part < 1, name, f"{part} is outside [0, 1)")
            require(count > 0 or not part, name, f"{part} of {train} training examples leaves no example for {name}")
        require(
            sum(self.set_aside_sizes) < train,
            "validation",
            f"{self.validation} and confirmation {self.confirmation} leave no training example",
        )

    def split(self, seed: int) -> Split:
        train, test = self.sizes
        rows = self.draw(train + test, stream(seed, "split"))
        return Split(
            self._known(rows[:train], seed).part(0, train - sum(self.set_aside_sizes)),
            self.examples(rows[train:], self.distractors_at_test, "test", seed),
        )

    def set_aside(self, seed: int) -> SetAside:
        validation, confirmation = self.set_aside_sizes
        if not validation + confirmation:
            return SetAside()
        train, test = self.sizes
        known = self._known(self.draw(train + test, stream(seed, "split"))[:train], seed)
        middle = train - confirmation
        return SetAside(
            known.part(middle - validation, middle) if validation else None,
            known.part(middle, train) if confirmation else None,
        )

    def _known(self, rows: Int[Tensor, "row column"], seed: int) -> Examples:
        """The training examples before some are set aside: the same as without validation."""
        return self.examples(rows, self.distractors, "train", seed)
