"""The search and its rivals on one task: the same splits, the same budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .rivals.base import Bout, Outcome, rivals

if TYPE_CHECKING:
    from ..config import RunConfig
    from .prepare import Plan
    from .tournament import Tournament
    from .training import Train


def chosen_rivals(names: Sequence[str], plan: Plan) -> list[str]:
    """Rivals by name; "all" means those that apply. ConfigError for one that is unknown or does not apply to the configuration."""
    named = [name for name in names if name != "all"]
    for name in named:
        rivals.get(name)().check_config(plan.config)
    every = sorted(rivals.entries()) if "all" in names else ()
    return list(dict.fromkeys([*named, *(name for name in every if _applies(name, plan.config))]))


def _applies(name: str, config: RunConfig) -> bool:
    try:
        rivals.get(name)().check_config(config)
    except ConfigError:
        return False
    return True


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
