"""The settings of a search."""

from __future__ import annotations

from dataclasses import dataclass

from ..settings import Settings, component, require
from .proposals.auto import Auto
from .proposals.base import Proposal, proposals
from .schedules.base import Schedule, schedules
from .schedules.halving import Halving

LARGEST = 4
"""Largest support that is searched for where its size is unknown."""


@dataclass(frozen=True, kw_only=True)
class SearchSettings(Settings):
    """How the support of a task is searched for."""

    family: str = "positions"
    """What supports are made of: positions, relative (to the query), classes (of symbols), after (a marker)."""
    k: int | None = None
    """Number of units of the support; none means unknown, 1 … 4."""
    budget: int = 0
    """Most run-steps of all candidates together until the support is chosen; 0 means ten times `epochs`."""
    beta: float = 1.0
    """Strength β of the KL prior towards each candidate."""
    validation: float = 0.1
    """Fraction of the training examples by which candidates are judged, where the task does not set its own."""
    confirmation: float = 0.05
    """Fraction of the training examples for the final test, where the task does not set its own."""
    level: float = 0.01
    """Probability of finding a support where labels are independent of the inputs: level of the permutation test at the end."""
    proposal: Proposal = component(proposals, Auto)
    """Which supports are candidates."""
    schedule: Schedule = component(schedules, Halving)
    """How long they train before some are dropped."""

    def check(self) -> None:
        require(self.k is None or self.k >= 1, "k", f"{self.k} is below 1")
        require(self.budget >= 0, "budget", f"{self.budget} is below 0")
        require(self.beta > 0, "beta", f"{self.beta:g} is not above 0")
        for name in ("validation", "confirmation", "level"):
            value = getattr(self, name)
            require(0 < value < 1, name, f"{value:g} is outside (0, 1)")
