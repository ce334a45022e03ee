"""The race: screen candidates up to the first rung, eliminate, train the winner on, test it once.

Every candidate is a run in the store, trained to the epoch of a rung and continued if it survives. Every decision is a function of
the rows that the runs recorded at the rungs, so that a search that was killed makes the same decisions again, and trains only
what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..run import StoredRun
from ..store import FINISHED, read_metrics
from ..store.tournaments import save_tournament
from ..thresholds import reaches
from .candidates import Standing, Units, name_of, ranked, run_for, standings_at
from .confirm import confirm
from .prepare import Plan
from .proposals.base import Pool
from .tournament import Entry, Tournament

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..store import RunInfo

SCREENING = 0.75
"""Fraction of the budget that candidates may take to the first rung; the rest is for the elimination."""

Train = Callable[[Sequence["RunConfig"], Sequence[str]], "list[RunInfo]"]
"""Trains configs, given with the names of their conditions, and returns the stored runs."""


class StoppedError(Exception):
    """Training was interrupted; everything is saved."""


@dataclass
class Race:
    """A search in progress."""

    plan: Plan
    runs: Path
    train: Train
    notify: Callable[[str], None]

    def __post_init__(self) -> None:
        plan = self.plan
        self.tournament = Tournament(
            id=plan.id,
            family=plan.settings.family,
            settings=plan.settings.to_dict(),
            config=plan.config.changes(),
            budget=plan.budget,
            chance=plan.chance,
        )

    def run(self) -> Tournament:
        """Race to the end, or until training is interrupted."""
        tournament = self.tournament
        try:
            field = self._eliminate(self._screen())
            tournament.winner = field[0].units
            self._finish(tournament.winner)
            tournament.status = "finished"
        except StoppedError:
            tournament.status = "stopped"
        self._save()
        return tournament

    def _screen(self) -> list[Standing]:
        """Train what is proposed to the first rung; the standings of those that may win."""
        plan, rounds = self.plan, 0
        tried: dict[Units, Standing] = {}
        while True:
            spent = sum(entry.run_steps for entry in self.tournament.entries.values())
            affordable = max(0, int(SCREENING * plan.budget - spent) // plan.steps_of(plan.first))
            pool = Pool(plan.units, plan.sizes, dict(tried), affordable, rounds, plan.config.seed_for("data"))
            proposed = plan.settings.proposal.next(pool)[:affordable]
            if not proposed:
                break
            self.notify(f"{len(proposed)} candidates to epoch {plan.first}")
            tried |= {one.units: one for one in self._to(plan.first, proposed)}
            rounds += 1
        for units, entry in self.tournament.entries.items():
            if len(units) not in plan.sizes:
                self._drop(entry, plan.first, f"a support has {_span(plan.sizes)} units")
        return [one for units, one in tried.items() if len(units) in plan.sizes]

    def _eliminate(self, field: list[Standing]) -> list[Standing]:
        """Drop candidates rung by rung until one is left or the budget is spent; the best first."""
        plan, schedule = self.plan, self.plan.settings.schedule
        epoch, ended = plan.first, ""
        for later in schedule.rungs(plan.first):
            left = schedule.survivors(field, plan.chance)
            kept = {one.units for one in left}
            best = left[0]
            for one in field:
                if one.units not in kept:
                    behind = (
                        f"loss {one.loss:.3f} against {best.loss:.3f} of {name_of(self.tournament.family, best.units)}"
                    )
                    self._drop(self.tournament.entries[one.units], epoch, behind)
            field = left
            if len(field) == 1:
                ended = "one candidate was left"
                break
            later = min(later, plan.config.epochs)
            cost = sum(plan.steps_of(later) - self.tournament.entries[one.units].run_steps for one in field)
            if later <= epoch or self.tournament.run_steps + cost > plan.budget:
                ended = "the last epoch was reached" if later <= epoch else "the budget was spent"
                break
            self.notify(f"{len(field)} candidates to epoch {later}")
            field, epoch = self._to(later, [one.units for one in field]), later
        field = ranked(field)
        for one in field[1:]:
            self._drop(self.tournament.entries[one.units], epoch, f"{ended}, and others had a lower loss")
        self.tournament.decided = {"epoch": epoch, "run_steps": self.tournament.run_steps, "why": ended}
        self._save()
        return field

    def _finish(self, winner: Units) -> None:
        """Train the winner on and test it."""
        plan, tournament = self.plan, self.tournament
        self.notify(f"{name_of(tournament.family, winner)} to epoch {plan.config.epochs}")
        self._to(plan.config.epochs, [winner])
        entry = tournament.entries[winner]
        run = StoredRun.find(self.runs, entry.run)
        entry.epochs = run.info.epoch
        test = confirm(run, plan.settings.level)
        tournament.confirmation = {**test._asdict(), "found": test.found}
        rows = read_metrics(run.info, ("test_accuracy",)).to_pylist()
        grokked = next((row["epoch"] for row in rows if reaches(row["test_accuracy"] or 0.0, 0.99)), None)
        others = tournament.run_steps - entry.run_steps
        tournament.outcome = {
            "epoch": run.info.epoch,
            "test_accuracy": rows[-1]["test_accuracy"],
            "generalised_epoch": grokked,
            "generalised_run_steps": None if grokked is None else others + plan.steps_of(grokked),
        }

    def _to(self, epoch: int, supports: Sequence[Units]) -> list[Standing]:
        """Train candidates to an epoch; their standings there."""
        plan, entries = self.plan, self.tournament.entries
        family, beta = plan.settings.family, plan.settings.beta
        configs = [run_for(plan.config, family, units, beta, epoch) for units in supports]
        for units, config in zip(supports, configs, strict=True):
            entries.setdefault(units, Entry(units=units, run=config.id, steps_per_epoch=config.steps_per_epoch))
        stored = {run.id: run for run in self.train(configs, [name_of(family, units) for units in supports])}
        if any(config.id not in stored or stored[config.id].status not in FINISHED for config in configs):
            raise StoppedError
        found = standings_at(epoch, supports, [stored[config.id] for config in configs])
        for one in found:
            entries[one.units].standings[epoch] = one
            # a run that stopped before costs less; one that another search has trained further costs no more
            entries[one.units].epochs = min(epoch, stored[entries[one.units].run].epoch)
        self._save()
        return found

    def _drop(self, entry: Entry, epoch: int, why: str) -> None:
        entry.dropped, entry.why = epoch, why

    def _save(self) -> None:
        save_tournament(self.runs, self.tournament.id, self.tournament.to_dict())


def _span(sizes: Sequence[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
