"""The race: screen candidates up to the first rung, eliminate, train the winner on, test it once.

Every candidate is a run, trained to the epoch of a rung and continued if it survives. While there are many they are trained in
memory; the last few are runs in the store. Every decision is a function of what was measured at the rungs, which the stored
tournament holds, so that a search that was killed makes the same decisions again, and trains only what is missing: candidates that
had not reached the rung, and survivors that were in memory.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.references import origins
from ..errors import ConfigError, StoreError
from ..launch.memory import MemoryRun
from ..run import StoredRun
from ..store import FINISHED, read_metrics, read_run
from ..store.tournaments import has_tournament, load_tournament, save_tournament
from ..thresholds import reaches
from .candidates import Standing, Units, name_of, ranked, run_for, standing_at, standings_at
from .confirm import confirm
from .kept import Kept
from .prepare import Plan
from .proposals.base import Pool
from .tournament import Entry, Tournament
from .training import StoppedError, Trainer

if TYPE_CHECKING:
    from ..config import RunConfig

SCREENING = 0.75
"""Fraction of the budget that candidates may take to the first rung; the rest is for the elimination."""

STORED = 8
"""Survivors of a rung that are stored as runs; more of them stay in memory."""
SAVE_EVERY = 20.0
"""Seconds between two saves of the tournament while candidates reach a rung in memory."""


@dataclass
class Race:
    """A search in progress."""

    plan: Plan
    runs: Path
    trainer: Trainer
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
            possible={size: math.comb(len(plan.units), size) for size in plan.sizes},
        )
        known = load_tournament(self.runs, plan.id)["tournament"] if has_tournament(self.runs, plan.id) else []
        self.known = {tuple(one["support"]): Entry.measured(one) for one in known}
        """What an earlier call measured."""
        self.configs: dict[Units, RunConfig] = {}
        """Of the candidates so far; their last epochs are those of any rung."""
        self.kept = Kept()
        self.lock = threading.Lock()
        self.saved = time.monotonic()

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
            tried |= {one.units: one for one in self._to(plan.first, proposed, in_memory=True)}
            rounds += 1
        for units, entry in self.tournament.entries.items():
            if len(units) not in plan.sizes:
                self._drop(entry, plan.first, f"a support has {_span(plan.sizes)} units")
        field = [one for units, one in tried.items() if len(units) in plan.sizes]
        if not field:
            raise ConfigError(
                "search.budget",
                f"{plan.budget:,} run-steps are too few: {plan.settings.proposal.kind} tried {len(tried):,} other supports, and "
                f"none of {_span(plan.sizes)} units",
            )
        return field

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
            field, epoch = self._to(later, [one.units for one in field], in_memory=len(field) > STORED), later
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
        self._train_stored(plan.config.epochs, {winner: self._config(winner, plan.config.epochs)})
        self._save()
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

    def _to(self, epoch: int, supports: Sequence[Units], in_memory: bool = False) -> list[Standing]:
        """Train candidates to an epoch; their standings there.

        in_memory   whether those that are not stored yet are trained in memory
        """
        entries = self.tournament.entries
        configs = {units: self._config(units, epoch) for units in supports}
        for units, config in configs.items():
            entries.setdefault(units, Entry(units=units, run=config.id, steps_per_epoch=config.steps_per_epoch))
        missing = [units for units in supports if not (in_memory and self._recall(units, epoch))]
        stored = {units: configs[units] for units in missing if self._is_stored(entries[units].run, epoch, in_memory)}
        self._train_here(epoch, {units: configs[units] for units in missing if units not in stored})
        self._train_stored(epoch, stored)
        if missing:
            self._save()
        return [entries[units].standings[epoch] for units in supports]

    def _is_stored(self, id: str, epoch: int, in_memory: bool) -> bool:
        """Whether a candidate is trained to a rung as a stored run."""
        if self.trainer.memory is None or origins(self.plan.config):
            return True
        if not (self.runs / id).exists():
            return not in_memory
        with suppress(StoreError):  # a damaged run fails when it is opened
            run = read_run(self.runs / id)
            # one that another search has trained may have passed the rung without an evaluation there
            return run.epoch <= epoch or epoch in read_metrics(run, ("epoch",))["epoch"].to_pylist()
        return True

    def _config(self, units: Units, epoch: int) -> RunConfig:
        if units not in self.configs:
            own = run_for(self.plan.config, self.tournament.family, units, self.plan.settings.beta, epoch)
            self.configs[units] = own
        own = self.configs[units]
        return own if own.epochs == epoch else own.until(epoch)

    def _names(self, supports: Sequence[Units]) -> list[str]:
        return [name_of(self.tournament.family, units) for units in supports]

    def _recall(self, units: Units, epoch: int) -> bool:
        """Whether an earlier call has measured a candidate at this rung; if so, it is not trained again."""
        known = self.known.get(units)
        if known is None or epoch not in known.standings:
            return False
        entry = self.tournament.entries[units]
        entry.standings[epoch], entry.curve = known.standings[epoch], known.curve
        entry.epochs = min(epoch, known.epochs)
        return True

    def _train_here(self, epoch: int, configs: dict[Units, RunConfig]) -> None:
        """Train candidates in memory, those that survived the rung before from where they are."""
        if not configs or self.trainer.memory is None:
            return

        def reached(units: Units, run: MemoryRun) -> None:
            with self.lock:  # in a thread of training
                self._reached(epoch, units, run)
                if time.monotonic() - self.saved > SAVE_EVERY:
                    self._save()

        runs = []
        for units, config in configs.items():
            run = self.kept.runs.get(units) or MemoryRun(config)
            run.config, run.on_finish = config, lambda run, units=units: reached(units, run)
            if run.finished:  # it stopped before
                self._reached(epoch, units, run)
            runs.append(run)
        self.trainer.memory(runs, self._names(list(configs)))
        if not all(run.finished for run in runs):
            raise StoppedError

    def _reached(self, epoch: int, units: Units, run: MemoryRun) -> None:
        entry = self.tournament.entries[units]
        entry.standings[epoch], entry.epochs = standing_at(epoch, units, run.rows), run.epoch
        entry.set_curve(run.rows)
        self.kept.add(entry.standings[epoch], run)

    def _train_stored(self, epoch: int, configs: dict[Units, RunConfig]) -> None:
        """Train candidates as stored runs; those in memory are stored first."""
        if not configs:
            return
        entries = self.tournament.entries
        in_memory = {units: run for units in configs if (run := self.kept.runs.get(units)) is not None}
        with ThreadPoolExecutor(max(1, len(in_memory))) as pool:  # most of it is waiting for the disk
            list(pool.map(lambda run: run.store(self.runs), in_memory.values()))
        for units in in_memory:
            self.kept.drop(units)
        trained = {run.id: run for run in self.trainer.stored(list(configs.values()), self._names(list(configs)))}
        if any(config.id not in trained or trained[config.id].status not in FINISHED for config in configs.values()):
            raise StoppedError
        for one in standings_at(epoch, list(configs), [trained[config.id] for config in configs.values()]):
            entries[one.units].standings[epoch] = one
            # a run that stopped before costs less; one that another search has trained further costs no more
            entries[one.units].epochs = min(epoch, trained[entries[one.units].run].epoch)

    def _drop(self, entry: Entry, epoch: int, why: str) -> None:
        entry.dropped, entry.why = epoch, why
        self.kept.drop(entry.units)

    def _save(self) -> None:
        self.saved = time.monotonic()
        save_tournament(self.runs, self.tournament.id, self.tournament.head(), self.tournament.encoded())


def _span(sizes: Sequence[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
