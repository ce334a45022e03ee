"""Tuning under equal budgets: every method has the same number of draws, and the same rule chooses among them.

The heat. All draws of all methods train on one tuning seed, from rung to rung. A method's heat ends at the first rung at which as
many draws as there are finalists have reached 99 % test accuracy: the others are slower, whatever they would do later. Draws that
diverged, or whose train accuracy is below 50 % at half of the horizon or later, are dropped: what is not even memorised by
then is not the fastest to generalise.

The final. The earliest draws train on the other tuning seeds, up to CAP times as long as they took in the heat. The draw that
reaches 99 % with the most tuning seeds is chosen; among several, the one with the smallest geometric mean of the steps.

Where no draw reaches 99 %, the one with the best test accuracy is chosen, and the table says so. All decisions follow from the rows
that runs recorded, so that tuning that was killed makes the same ones again and trains only what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import StoreError
from ..store import FINISHED, read_each
from ..store.tuned import load_tuned, save_tuned
from ..thresholds import reaches

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..store import RunInfo
    from .methods.base import Method
    from .tracks.base import Scale, Sizes, Track

SEEDS = range(1000, 1100)
"""Tuning seeds; scores are of seeds 0, 1, 2 …"""
GOAL = 0.99
MEMORISED = 0.5
"""Train accuracy without which a draw is dropped, from half of the horizon on."""
CAP = 4
"""Multiple of its time in the heat after which a finalist counts as not reaching."""

Train = Callable[[Sequence["RunConfig"], Sequence[str]], "list[RunInfo]"]


class StoppedError(Exception):
    """Training was interrupted; everything is saved."""


@dataclass
class Entry:
    """One draw of a method on one seed."""

    config: RunConfig
    """With the epochs that were asked for last."""
    epoch: int = 0
    """Epochs trained."""
    time: int | None = None
    """Epoch of the first crossing."""
    best: float = 0.0
    """Best test accuracy."""
    train: float = 0.0
    """Train accuracy at the end."""
    dropped: str = ""

    @property
    def steps(self) -> int:
        return self.epoch * self.config.steps_per_epoch


@dataclass
class Tuning:
    """The tuning of some methods on a track."""

    track: Track
    methods: Mapping[str, Method]
    """By name; those that inherit their settings are left out."""
    scale: Scale
    sizes: Sizes
    results: Path
    precision: Literal["float32", "tf32"]
    """What "auto" means where the draws are trained."""
    train: Train
    notify: Callable[[str], None] = lambda line: None
    heats: dict[str, list[Entry]] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """Tune the methods that are not tuned yet; the whole table, by name of the method. StoppedError if interrupted."""
        table = load_tuned(self.results, self.track.experiment, self.scale)
        left = [name for name in self.methods if not self.is_tuned(name, table.get(name))]
        if not left:
            return table
        self.heats = {name: self._draws(name, SEEDS[0]) for name in left}
        racing = list(left)
        for rung in self.track.rungs(self.scale):
            self.notify(f"track {self.track.kind}: draws of {len(racing)} methods to epoch {rung:,}")
            self._train({name: [(one, rung) for one in self._going(name)] for name in racing})
            racing = [name for name in racing if not self._decided(name)]
            if not racing:
                break
        table |= self._final(left)
        save_tuned(self.results, self.track.experiment, self.scale, table)
        return table

    @property
    def horizon(self) -> int:
        return self.track.base(self.scale).epochs

    def is_tuned(self, name: str, entry: Mapping[str, Any] | None) -> bool:
        """Whether a stored entry is of this protocol (as many draws, finalists and tuning seeds) and of the method as it is now:
        the chosen settings are still one of its draws."""
        if entry is None or entry["sizes"] != [self.sizes.draws, self.sizes.finalists, self.sizes.tuning]:
            return False
        return bool(entry["settings"] == self.methods[name].draws(self.sizes.draws)[entry["draw"]])

    def _draws(self, name: str, seed: int) -> list[Entry]:
        return [self._entry(settings, seed) for settings in self.methods[name].draws(self.sizes.draws)]

    def _entry(self, settings: Mapping[str, Any], seed: int) -> Entry:
        config = self.track.tuning(self.scale, settings, seed, 1)
        return Entry(replace(config, precision=self.precision) if config.precision == "auto" else config)

    def _going(self, name: str) -> list[Entry]:
        return [one for one in self.heats[name] if one.time is None and not one.dropped]

    def _decided(self, name: str) -> bool:
        reached = sum(one.time is not None for one in self.heats[name])
        return reached >= min(self.sizes.finalists, self.sizes.draws) or not self._going(name)

    def _final(self, names: Sequence[str]) -> dict[str, Any]:
        """Train the finalists on the other seeds; the entries of the table."""
        finals: dict[str, dict[int, list[Entry]]] = {}
        for name in names:
            finalists, chances = self._finalists(name), self.methods[name].draws(self.sizes.draws)
            seeds = SEEDS[1 : self.sizes.tuning]
            finals[name] = {at: [self._entry(chances[at], seed) for seed in seeds] for at in finalists}
        self.notify(f"track {self.track.kind}: the final of {len(names)} methods")
        self._train(
            {
                name: [(one, self._cap(self.heats[name][at])) for at, entries in own.items() for one in entries]
                for name, own in finals.items()
            }
        )
        return {name: self._summary(name, finals[name]) for name in names}

    def _finalists(self, name: str) -> list[int]:
        """Numbers of the earliest draws; none if no draw reached, or if there are no further seeds."""
        heat = self.heats[name]
        reached = sorted(
            (at for at, one in enumerate(heat) if one.time is not None), key=lambda at: (heat[at].time, at)
        )
        return reached[: self.sizes.finalists]

    def _cap(self, heat: Entry) -> int:
        assert heat.time is not None
        every = heat.config.log.every
        return min(self.horizon, math.ceil(CAP * heat.time / every) * every)

    def _summary(self, name: str, final: Mapping[int, Sequence[Entry]]) -> dict[str, Any]:
        heat = self.heats[name]

        def place(at: int) -> tuple[float, float]:
            times = [one.time for one in (heat[at], *final[at]) if one.time is not None]
            return -len(times), sum(map(math.log, times)) / len(times)

        if final:
            at = min(final, key=place)
            note = ""
        else:
            at = max(range(len(heat)), key=lambda at: heat[at].best)
            note = f"no draw reached 99 %; the best has {100 * heat[at].best:.1f} %"
        steps_per_epoch = heat[at].config.steps_per_epoch
        seen = [heat[at], *final.get(at, ())]
        every = [*heat, *(one for entries in final.values() for one in entries)]
        return {
            "sizes": [self.sizes.draws, self.sizes.finalists, self.sizes.tuning],
            "draw": at,
            "settings": self.methods[name].draws(self.sizes.draws)[at],
            "reached": sum(one.time is not None for one in heat),
            "steps": [None if one.time is None else one.time * steps_per_epoch for one in seen],
            "run_steps": sum(one.steps for one in every),
            "runs": len(every),
            "diverged": sum(one.dropped == "diverged" for one in heat),
            "note": note,
        }

    def _train(self, wanted: Mapping[str, Sequence[tuple[Entry, int]]]) -> None:
        """Train entries to an epoch each, all methods side by side, and read what became of them."""
        asked = [(name, one, epoch) for name, own in wanted.items() for one, epoch in own]
        if not asked:
            return
        for _, one, epoch in asked:
            one.config = replace(one.config, epochs=epoch)
        stored = {run.id: run for run in self.train([one.config for _, one, _ in asked], [name for name, *_ in asked])}
        if any(one.config.id not in stored or stored[one.config.id].status not in FINISHED for _, one, _ in asked):
            raise StoppedError
        runs = [stored[one.config.id] for _, one, _ in asked]
        for (_, one, epoch), run, table in zip(asked, runs, read_each(runs, COLUMNS), strict=True):
            if isinstance(table, StoreError):
                raise table
            _read(one, epoch, run, table.to_pylist())
            if run.status == "diverged":
                one.dropped = "diverged"
            elif one.time is None and epoch >= self.horizon / 2 and one.train < MEMORISED:
                one.dropped = "not memorised"


COLUMNS = ("test_accuracy", "train_accuracy")


def _read(one: Entry, epoch: int, run: RunInfo, rows: Sequence[Mapping[str, Any]]) -> None:
    """What a run recorded up to an epoch; it may have been trained further before."""
    rows = [row for row in rows if row["epoch"] <= epoch]
    one.epoch = min(epoch, run.epoch)
    one.time = next((row["epoch"] for row in rows if reaches(row["test_accuracy"] or 0.0, GOAL)), None)
    one.epoch = one.epoch if one.time is None else min(one.epoch, one.time)
    one.best = max((row["test_accuracy"] or 0.0 for row in rows), default=0.0)
    one.train = (rows[-1]["train_accuracy"] or 0.0) if rows else 0.0
