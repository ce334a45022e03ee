"""What a training command shows while it works: a live table on a terminal, elsewhere one line every ten seconds."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from ..conditions import arms_of
from .live_table import Line, draw, visible_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..config import RunConfig
    from ..fleet.lane import Lane

JUDGE = "val_calibrated_loss"
"""The loss by which a search compares candidates."""


class Display:
    """Receives the lanes of every fleet, one fleet at a time, and shows all of them together."""

    def __init__(
        self,
        configs: Sequence[RunConfig],
        conditions: Sequence[str] | None = None,
        *,
        held_out: bool = False,
        console: Console | None = None,
        every: float | None = None,
    ):
        """
        conditions   what each run is called
        held_out     show how runs do on validation examples instead of test examples: a search never looks at these
        every        least number of seconds between two drawings
        """
        self.total = len(configs)
        self.held_out = held_out
        conditions = conditions or arms_of([config.to_dict() for config in configs]).names
        self.names = {c.id: f"{condition}, seed {c.seed}" for c, condition in zip(configs, conditions, strict=True)}
        self.console = console or Console(stderr=True)
        on_screen = self.console.is_terminal and not self.console.is_dumb_terminal
        self.live = Live(console=self.console, auto_refresh=False, transient=True) if on_screen else None
        self.every = every if every is not None else 0.1 if on_screen else 10.0
        self.begin = time.monotonic()
        self.last = -math.inf if on_screen else self.begin
        """When it was last drawn; a terminal shows the first evaluation at once."""
        self.waiting = 0
        """Runs that have not begun, at the last update."""
        self.lanes: dict[str, Lane] = {}
        self.finished: dict[str, None] = {}
        """Ids of the lanes that no longer train, in the order in which they ended."""
        self.regression: dict[str, bool] = {}

    def __enter__(self) -> Display:
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            # the last updates may have come too soon after a frame; a table that cannot be drawn must not hide the results
            with suppress(Exception):
                self.live.update(self._table(self.waiting))
            with suppress(Exception):
                self.live.stop()

    def update(self, lanes: list[Lane], waiting: int) -> None:
        self.waiting = waiting
        for lane in lanes:
            config = lane.job.config
            self.lanes[config.id] = lane
            if config.id not in self.regression:
                self.regression[config.id] = config.task.shape.regression
            if lane.status == "running":
                self.finished.pop(config.id, None)
            else:
                self.finished.setdefault(config.id)
        now = time.monotonic()
        if now - self.last < self.every:
            return
        self.last = now
        if self.live:
            self.live.update(self._table(waiting), refresh=True)
        else:
            print(self._line(waiting), file=sys.stderr, flush=True)

    def _running(self) -> list[Lane]:
        return [lane for id, lane in self.lanes.items() if id not in self.finished]

    def _left(self, waiting: int) -> float:
        """Seconds to the last epoch of the last run, if none ends early and those that wait are like those in training."""
        active = [lane for lane in self._running() if lane.epoch]
        if not active:
            return 0.0
        whole = [lane.seconds / lane.epoch * lane.job.config.epochs for lane in active]
        longest = max(
            seconds * (1 - lane.epoch / lane.job.config.epochs) for seconds, lane in zip(whole, active, strict=True)
        )
        return longest + waiting * sum(whole) / len(whole) / len(active)

    def _line(self, waiting: int) -> str:
        running = self._running()
        parts = [
            f"{len(self.finished)} of {self.total} runs finished",
            f"{len(running)} training",
            f"{waiting} waiting",
        ]
        if running:
            parts.append(f"epoch {min(lane.epoch for lane in running)}")
            parts += self._best(running)
        return ", ".join([*parts, f"at most {_clock(self._left(waiting))} left"])

    def _best(self, running: Sequence[Lane]) -> list[str]:
        """How well the best run in training does."""
        if self.held_out:
            losses = [loss for lane in running if (loss := lane.last.get(JUDGE)) is not None and loss == loss]
            return [f"best held-out loss {min(losses):.3f}"] if losses else []
        name = "R²" if all(self.regression[lane.job.config.id] for lane in running) else "accuracy"
        best = max(_number(lane.last.get("test_accuracy")) for lane in running)
        return [f"best test {name} {best:.2f}" if name == "R²" else f"best test {name} {best:.1%}"]

    def _table(self, waiting: int) -> RenderableType:
        """Running lanes first, then the finished ones, the most recent first."""
        width, height = self.console.size
        running = self._running()
        ended = [self.lanes[id] for id in reversed(self.finished)]
        lines = [
            Line(
                name=self.names[lane.job.config.id],
                epoch=lane.epoch,
                epochs=lane.job.config.epochs,
                row=lane.last,
                status=lane.status if lane.job.config.id in self.finished else "running",
                regression=self.regression[lane.job.config.id],
                held_out=self.held_out,
            )
            for lane in [*running, *ended]
        ]
        visible = visible_lines(height)
        hidden = {"running": max(len(running) - visible, 0)}
        hidden["finished"] = max(len(lines) - visible, 0) - hidden["running"]
        notes = [f"{count} more {name}" for name, count in hidden.items() if count]
        notes += [f"{waiting} waiting"] if waiting else []
        spent, left = _clock(time.monotonic() - self.begin), _clock(self._left(waiting))
        return draw(lines, width=width, height=height, footer=" · ".join([*notes, spent, f"at most {left} left"]))


def _number(value: float | None) -> float:
    """0 for a value that is missing or NaN."""
    return value if value is not None and value == value else 0.0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
