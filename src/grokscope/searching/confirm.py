"""Whether the support that won is more than chance: one permutation test on examples that no choice has seen.

The winner depends on the training and the validation examples alone. If labels are independent of the inputs, the labels of the
confirmation examples are exchangeable given its predictions, so that the test rejects with probability ≤ level, whatever the
number of candidates, rungs and peeks at the validation examples. It holds once: a search whose settings are changed until it
succeeds has looked at these examples more than once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

from ..fleet.data import known_examples
from ..fleet.splits import split_of
from ..randomness import stream
from ..settings import require

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..run import StoredRun
    from ..tasks import Examples

PERMUTATIONS = 9_999
AT_ONCE = 1_000
"""Permutations that are compared at once."""


class Confirmation(NamedTuple):
    """Result of the test."""

    p: float
    """Share of permutations of the labels with at least as many correct answers, the given order included."""
    accuracy: float
    examples: int
    level: float

    @property
    def found(self) -> bool:
        return self.p <= self.level


def confirm(run: StoredRun, level: float) -> Confirmation:
    """Test the newest network of a run on its confirmation examples."""
    config = run.config
    held_out, labels = _held_out(config)
    answers = run.network()(held_out).answers.argmax(-1)
    correct = answers == labels
    p = permutation_p(answers, labels, config.seed_for("data"))
    return Confirmation(p, float(correct.float().mean()), len(labels), level)


def check_confirmation(config: RunConfig, level: float) -> None:
    """Raise ConfigError where no answers to the confirmation examples could be found better than chance."""
    least = 1 / (1 + PERMUTATIONS)
    require(
        level >= least, "search.level", f"{level:g} is below {least:g}, the smallest p of {PERMUTATIONS:,} permutations"
    )
    labels = _held_out(config)[1]
    n = len(labels)
    p = math.exp(sum(map(math.lgamma, (labels.bincount() + 1.0).tolist())) - math.lgamma(n + 1))
    few = f"{n} examples are too few" if n > 1 else "1 example is too few"
    require(
        p <= level,
        "task.confirmation",
        f"{few}: with every answer correct p would be {p:.2g}, above search.level = {level:g}",
    )


def _held_out(config: RunConfig) -> tuple[Examples, Tensor]:
    """The confirmation examples of a run, and one label of each."""
    _, _, held_out = known_examples(config, split_of(config.task, config.seed_for("data")).train)
    assert held_out is not None
    return held_out, held_out.labels if held_out.labels.ndim == 1 else held_out.labels[:, -1]


def permutation_p(answers: Tensor, labels: Tensor, seed: int, permutations: int = PERMUTATIONS) -> float:
    """p of the number of correct answers under permutations of the labels."""
    generator = stream(seed, "confirmation")
    observed = (answers == labels).sum()
    as_good = 0
    for begun in range(0, permutations, AT_ONCE):
        count = min(AT_ONCE, permutations - begun)
        orders = torch.stack([torch.randperm(len(labels), generator=generator) for _ in range(count)])
        as_good += int(((answers == labels[orders]).sum(1) >= observed).sum())
    return (1 + as_good) / (1 + permutations)
