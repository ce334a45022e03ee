"""A rule on some of the checkpoints of a probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiments.base import Case
from ...experiments.clocks import NotRunError
from ...experiments.settle import Rule
from ...thresholds import reaches

if TYPE_CHECKING:
    import pandas as pd

    from ...store.results import Results

MEMORISED = 0.99
SHARED_SEEDS = (
    "Runs with one seed share data and initial weights across arms, so that runs are not independent; drawing whole seeds instead "
    "gives the same verdicts."
)
"""Of rules whose bootstrap draws runs of several arms."""


def memorised(table: pd.DataFrame) -> pd.DataFrame:
    """The checkpoints of a probe with training accuracy of 99 % or more."""
    return table[reaches(table["train_accuracy"], MEMORISED)]


@dataclass(frozen=True)
class Memorised(Rule):
    """`rule` on the memorised checkpoints of the probe `table`."""

    rule: Rule
    table: str

    def cases(self, results: Results) -> list[Case]:
        own = results.probes.get(self.table)
        if own is None:
            raise NotRunError(f"probe {self.table}")
        return self.rule.cases(results._replace(probes={**results.probes, self.table: memorised(own)}))
