"""The search and its rivals on one task: the same splits, the same budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .rivals.base import Bout, Outcome, rivals

if TYPE_CHECKING:
    from .prepare import Plan
    from .tournament import Tournament
    from .training import Train

SOLVERS = ("fourier", "gf2", "lasso")
"""Rivals that solve parities only."""


def chosen_rivals(names: Sequence[str], plan: Plan) -> list[str]:
    """Rivals by name; "all" means those that apply to the task. ConfigError for an unknown one."""
    if list(names) == ["all"]:
        return [name for name in sorted(rivals.entries()) if name not in SOLVERS or plan.config.task.kind == "parity"]
    for name in names:
        rivals.get(name)
        if name in SOLVERS and plan.config.task.kind != "parity":
            raise ConfigError("rivals", f"{name} solves task parity only, not {plan.config.task.kind}")
    return list(names)


def own_outcome(tournament: Tournament) -> Outcome:
    """The search in the form of its rivals."""
    found = tournament.outcome
    support = tuple(tournament.support) if tournament.support else None
    note = f"decided after {tournament.decided['run_steps']:,} run-steps"
    generalised, accuracy = found["generalised_run_steps"], found["test_accuracy"]
    return Outcome("search", support, tournament.run_steps, generalised, accuracy, note)


def compare(tournament: Tournament, plan: Plan, names: Sequence[str], runs: Path, train: Train) -> list[Outcome]:
    """The search first, then each rival with as many run-steps as a search may take: its budget and the epochs of the winner."""
    bout = Bout(plan.config, plan.budget + plan.steps_of(plan.config.epochs), plan.settings.k, runs, train)
    others = [rivals.get(name)().compete(bout) for name in chosen_rivals(names, plan)]
    return [own_outcome(tournament), *others]
