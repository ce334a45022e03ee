"""The record of a search: who was in, when and why each was dropped, what it cost, and what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..store.tournaments import plain_json
from .candidates import CURVES, Standing, Units, name_of


@dataclass(kw_only=True)
class Entry:
    """One candidate."""

    units: Units
    run: str
    """Id of its run, which is stored only if it was among the last."""
    steps_per_epoch: int
    standings: dict[int, Standing] = field(default_factory=dict)
    """By the epoch of the rung."""
    epochs: int = 0
    """Epochs that it was trained for in this search."""
    dropped: int | None = None
    """Epoch of the rung at which it was dropped."""
    why: str = ""
    curve: dict[str, list[float | None]] = field(default_factory=dict)
    """Epochs and losses while it was in memory; empty for a candidate that was stored from the start."""
    _encoded: tuple[Any, str] = field(default=(None, ""), init=False, repr=False, compare=False)
    """What was encoded last, and the text."""

    @property
    def run_steps(self) -> int:
        return self.epochs * self.steps_per_epoch

    def to_dict(self, family: str) -> dict[str, Any]:
        return {
            "support": list(self.units),
            "name": name_of(family, self.units),
            "run": self.run,
            "epochs": self.epochs,
            "run_steps": self.run_steps,
            "rungs": [
                {"epoch": epoch, "loss": finite(one.loss), "error": one.error, "accuracy": one.accuracy}
                for epoch, one in self.standings.items()
            ],
            "dropped": self.dropped,
            "why": self.why,
            **({"curve": self.curve} if self.curve else {}),
        }

    def encoded(self, family: str) -> str:
        """`to_dict` as JSON. Encoded again only if something has changed: a search of thousands is saved at every rung."""
        now = (family, *self.standings.items(), self.epochs, self.dropped, self.why, self.curve)
        if self._encoded[0] != now:
            self._encoded = (now, plain_json(self.to_dict(family)))
        return self._encoded[1]

    @classmethod
    def measured(cls, plain: Mapping[str, Any]) -> Entry:
        """What was measured of a stored candidate; what was decided about it follows."""
        units: Units = tuple(plain["support"])
        standings = {
            rung["epoch"]: Standing(
                units, math.inf if rung["loss"] is None else rung["loss"], rung["error"], rung["accuracy"]
            )
            for rung in plain["rungs"]
        }
        return cls(
            units=units,
            run=plain["run"],
            steps_per_epoch=0,
            standings=standings,
            epochs=plain["epochs"],
            curve=plain.get("curve", {}),
        )

    def set_curve(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Keep what is drawn of the rows of a run."""
        curve: dict[str, list[float | None]] = {"epoch": [row["epoch"] for row in rows]}
        self.curve = curve | {name: [finite(row[name]) for row in rows] for name in CURVES}


@dataclass(kw_only=True)
class Tournament:
    """A search and its result."""

    id: str
    family: str
    settings: dict[str, Any]
    """Those of the search."""
    config: dict[str, Any]
    """Those of the runs, without the prior."""
    budget: int
    chance: float
    """Loss of a network that knows nothing."""
    possible: dict[int, int] = field(default_factory=dict)
    """Supports that there are, by each size that was asked for."""
    entries: dict[Units, Entry] = field(default_factory=dict)
    status: str = "racing"
    """racing, stopped (interrupted), or finished."""
    winner: Units | None = None
    decided: dict[str, Any] = field(default_factory=dict)
    """Epoch and run-steps of all candidates when one was left, and why the race ended."""
    confirmation: dict[str, Any] = field(default_factory=dict)
    """p, accuracy, number of examples and level of the final test."""
    outcome: dict[str, Any] = field(default_factory=dict)
    """What became of the winner: read after everything is decided."""
    rivals: list[dict[str, Any]] = field(default_factory=list)
    """The search and other methods under the same splits and budget, if they were asked for."""

    @property
    def run_steps(self) -> int:
        """Of all candidates so far."""
        return sum(entry.run_steps for entry in self.entries.values())

    @property
    def found(self) -> bool | None:
        """Whether there is a support; None until the final test is made."""
        return self.confirmation.get("found")

    @property
    def support(self) -> list[int] | None:
        """The support that was found, if any."""
        return list(self.winner) if self.winner is not None and self.found else None

    @property
    def tried(self) -> dict[int, int]:
        """Candidates by each size that was asked for."""
        return {size: sum(len(units) == size for units in self.entries) for size in self.possible}

    @property
    def summary(self) -> dict[str, Any]:
        """What `grokscope search --json` prints, without the candidates."""
        return {
            "search": self.id,
            "status": self.status,
            "found": self.found,
            "family": self.family,
            "support": self.support,
            "best": None if self.winner is None else list(self.winner),
            "run": None if self.winner is None else self.entries[self.winner].run,
            "candidates": len(self.entries),
            "tried": [{"size": size, "tried": tried, "of": self.possible[size]} for size, tried in self.tried.items()],
            "decided": self.decided or None,
            "confirmation": self.confirmation or None,
            "outcome": self.outcome or None,
            "run_steps": self.run_steps,
            "budget": self.budget,
        }

    def to_dict(self) -> dict[str, Any]:
        return self.head() | {"tournament": [entry.to_dict(self.family) for entry in self.entries.values()]}

    def encoded(self) -> list[str]:
        """The candidates as JSON."""
        return [entry.encoded(self.family) for entry in self.entries.values()]

    def head(self) -> dict[str, Any]:
        """All but the candidates."""
        return {
            "version": 1,
            **self.summary,
            "chance": self.chance,
            "settings": self.settings,
            "config": self.config,
            "rivals": self.rivals,
        }

    def verdict(self) -> str:
        """The result in one sentence."""
        if self.status != "finished" or self.winner is None:
            return f"The search was {self.status} after {self.run_steps:,} run-steps."
        name, test = name_of(self.family, self.winner), self.confirmation
        checked = f"{test['accuracy']:.1%} of {test['examples']} confirmation examples, p = {test['p']:.2g}"
        when = f"decided at epoch {self.decided['epoch']:,} after {self.decided['run_steps']:,} run-steps"
        if self.found:
            return f"Support found: {name} ({when}; {checked})."
        best = f"The best of {len(self.entries)} candidates, {name}, is not better than chance ({checked})."
        return f"No support found{self._untried()}. {best}"

    def _untried(self) -> str:
        """What a search that found nothing has not looked at, since its budget did not reach so far."""
        never = [str(size) for size, tried in self.tried.items() if not tried]
        some = [
            f"{tried:,} of the {self.possible[size]:,} of {size}"
            for size, tried in self.tried.items()
            if 0 < tried < self.possible[size]
        ]
        parts = [f"{', '.join(some)} units"] if some else []
        parts += [f"none of {' or '.join(never)} units"] if never else []
        return (
            f" among those that were tried, {' and '.join(parts)} (budget: {self.budget:,} run-steps)" if parts else ""
        )


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if abs(value) < float("inf") else None


def rival_cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A row of the table of rivals: method, support, run-steps, run-steps to 99 %, test accuracy, note."""
    return (
        one["name"],
        "–" if one["support"] is None else " ".join(map(str, one["support"])),
        f"{one['run_steps']:,}",
        "never" if one["generalised"] is None else f"{one['generalised']:,}",
        "–" if one["test_accuracy"] is None else f"{one['test_accuracy']:.1%}",
        one["note"],
    )
