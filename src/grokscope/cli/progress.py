"""What a training command shows while it works: a line per run with epoch, accuracies and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ..describe import differences

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..fleet.engine import Lane

SHOWN = 15
"""Lines on screen; a larger fleet shows its first lanes and a count."""


class Display:
    """Told by the fleets about their lanes, one fleet at a time; draws a live table on a terminal, a line every ten seconds
    elsewhere, of all fleets together."""

    def __init__(self, configs: Sequence[RunConfig], conditions: Sequence[str] | None = None):
        self.total = len(configs)
        conditions = conditions or differences([config.to_dict() for config in configs])
        self.names = {c.id: f"{condition}, seed {c.seed}" for c, condition in zip(configs, conditions, strict=True)}
        self.console = Console(stderr=True)
        self.live = Live(console=self.console, auto_refresh=False, transient=True) if self.console.is_terminal else None
        self.begin = self.last = time.monotonic()
        self.lanes: dict[str, Lane] = {}

    def __enter__(self) -> Display:
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def update(self, lanes: list[Lane], waiting: int) -> None:
        for lane in lanes:
            self.lanes[lane.job.config.id] = lane
        now = time.monotonic()
        if self.live:
            if now - self.last > 0.1:
                self.last = now
                self.live.update(self._table(waiting), refresh=True)
        elif now - self.last > 10:
            self.last = now
            print(self._line(waiting), file=sys.stderr, flush=True)

    def _left(self, waiting: int) -> float:
        """Seconds to the last epoch of the last run, if none ends early and those that wait are like those in training."""
        active = [lane for lane in self.lanes.values() if lane.status == "running" and lane.epoch]
        if not active:
            return 0.0
        whole = [lane.seconds / lane.epoch * lane.job.config.epochs for lane in active]
        longest = max(
            seconds * (1 - lane.epoch / lane.job.config.epochs) for seconds, lane in zip(whole, active, strict=True)
        )
        return longest + waiting * sum(whole) / len(whole) / len(active)

    def _line(self, waiting: int) -> str:
        active = [lane for lane in self.lanes.values() if lane.status == "running"]
        over = len(self.lanes) - len(active)
        epochs = f"epoch {min(lane.epoch for lane in active)}" if active else ""
        best = max((lane.last.get("test_accuracy", 0.0) for lane in active), default=0.0)
        counts = f"{over} of {self.total} runs over, {len(active)} training, {waiting} waiting"
        return f"{counts}, {epochs}, best test accuracy {best:.0%}, at most {_clock(self._left(waiting))} left"

    def _table(self, waiting: int) -> Any:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for header in ("run", "epoch", "train", "test", "D", ""):
            table.add_column(header, justify="left" if header in ("run", "") else "right")
        for lane in list(self.lanes.values())[-SHOWN:]:
            config, row = lane.job.config, lane.last
            bar = "█" * round(20 * row.get("test_accuracy", 0.0))
            state = bar if lane.status == "running" else f"{bar:<20} [bold]{lane.status}[/]"
            numbers = (
                (f"{100 * row['train_accuracy']:.0f} %", f"{100 * row['test_accuracy']:.0f} %", f"{row['D']:.2f}")
                if row
                else ("", "", "")
            )
            table.add_row(self.names[config.id], f"{lane.epoch} / {config.epochs}", *numbers, state)
        hidden = f"{len(self.lanes) - SHOWN} more runs · " if len(self.lanes) > SHOWN else ""
        queue = f"{waiting} waiting · " if waiting else ""
        spent, left = _clock(time.monotonic() - self.begin), _clock(self._left(waiting))
        table.caption = f"{hidden}{queue}{spent} so far · at most {left} left"
        return table


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
