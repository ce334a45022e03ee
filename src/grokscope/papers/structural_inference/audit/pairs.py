"""Pairs of inputs that differ at one informative position and in their label (structural inference, App. C.1.2).

A row of a task's table becomes a sequence by a function of the row, the part and the seed alone, and distractors do not
look at the operands: the same rows with one operand changed give the same sequences with one token changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from ....randomness import stream
from ....shapes import Int
from ....tasks import Examples
from ....tasks.draws import draw
from ....tasks.table import TableTask

if TYPE_CHECKING:
    from torch import Tensor

    from ....config import RunConfig

LIMIT = 2**16
"""Most pairs that are evaluated; where there are more, inputs and changes are sampled."""
FEWEST_INPUTS = 64
"""Of a task with very many tokens, changes are sampled before there are fewer inputs than this."""


class Pairs(NamedTuple):
    """Test inputs, and for some of them the same input with another token at an informative position."""

    inputs: Examples
    """The whole test set, with one label per input."""
    first: Int[Tensor, "pair"]
    """Which input the pair begins with."""
    tokens: Int[Tensor, "pair position"]
    """The other input, which need not be in the test set."""
    position: Int[Tensor, "pair"]
    """Where the two differ."""
    exhaustive: bool
    """Whether these are all pairs that begin with a test input."""

    def sample(self, most: int) -> Pairs:
        """At most `most` of the pairs, spread evenly over all changes and inputs."""
        if len(self.first) <= most:
            return self
        pick = torch.linspace(0, len(self.first) - 1, most).round().long()
        return self._replace(
            first=self.first[pick], tokens=self.tokens[pick], position=self.position[pick], exhaustive=False
        )


def pairs_of(config: RunConfig, limit: int = LIMIT) -> Pairs | None:
    """Pairs for one run; None for a task that is not a table of operands, or has no such pairs."""
    task, seed = config.task, config.seed_for("data")
    if not isinstance(task, TableTask):
        return None
    rows = draw(task.columns, sum(task.sizes), stream(seed, "split"))[task.sizes[0] :]

    def sequences(rows: Tensor) -> Examples:
        found = task.examples(rows, task.distractors_at_test, "test", seed)
        return found if found.labels.ndim == 1 else found._replace(labels=found.labels[:, -1])

    inputs = sequences(rows)
    changes = [
        (column, shift)
        for column, values in enumerate(task.columns)
        if _differ(inputs, sequences(_changed(rows, column, values, 1))).any()
        for shift in range(1, len(values))
    ]
    if not changes:
        return None
    draws = stream(seed, "audit")
    count = min(len(rows), max(FEWEST_INPUTS, limit // len(changes)))
    chosen = torch.randperm(len(rows), generator=draws)[:count].sort().values
    kept = torch.randperm(len(changes), generator=draws)[: max(limit // count, 1)].sort().values.tolist()
    first, tokens, position = [], [], []
    for column, shift in (changes[number] for number in kept):
        others = sequences(_changed(rows, column, task.columns[column], shift))
        differ = _differ(inputs, others)
        pick = chosen[differ.any(1)[chosen] & (inputs.labels != others.labels)[chosen]]
        first.append(pick)
        tokens.append(others.inputs[pick])
        position.append(differ[pick].int().argmax(1))
    if not sum(map(len, first)):
        return None
    exhaustive = count == len(rows) and len(kept) == len(changes)
    return Pairs(inputs, torch.cat(first), torch.cat(tokens), torch.cat(position), exhaustive)


def _changed(rows: Tensor, column: int, values: range, shift: int) -> Tensor:
    """The rows with every value of one column moved on by `shift`, round and round."""
    other = rows.clone()
    other[:, column] = values.start + (rows[:, column] - values.start + shift) % len(values)
    return other


def _differ(inputs: Examples, others: Examples) -> Tensor:
    """True at the position where two inputs differ, for those that differ there alone and where it is informative."""
    differ = inputs.inputs != others.inputs
    alone = (differ.sum(1) == 1) & (inputs.marked == others.marked).all(1)
    return differ & inputs.marked & alone[:, None]
