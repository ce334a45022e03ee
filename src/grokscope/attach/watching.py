"""What `grokscope.train` shows and tells while it trains: a bar in a notebook or on a terminal, and the user's callbacks.

A callback is a function of one evaluation: a dict with `run`, `seed`, `status` and every measurement of the row.

    def show(row):
        if row["epoch"] % 500 == 0:
            print(row["seed"], row["epoch"], row["test_accuracy"])

    grokscope.train(config, seeds=3, callbacks=[show])

Callbacks are called by the threads that train, one at a time, soon after each evaluation. One that fails is reported in one line
and not called again; training continues.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, shown

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..fleet import Progress
    from ..fleet.lane import Lane

Callback = Callable[[dict[str, Any]], object]
EVERY = 0.2
"""Least number of seconds between two drawings."""
WIDTH = 28
"""Characters of the bar."""


class Watch:
    """Receives the lanes after every evaluation, calls the callbacks and moves the bar."""

    def __init__(
        self, configs: Sequence[RunConfig], bar: Bar | None, callbacks: Sequence[Callback], more: Progress | None = None
    ):
        """more   another display that is sent the same"""
        if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
            raise ConfigError("callbacks", f"{shown(callbacks)} is not a list of functions")
        self.bar, self.callbacks, self.more = bar, list(callbacks), more
        self.runs, self.epochs = len(configs), sum(config.epochs for config in configs)
        self.at: dict[str, int] = {}
        """Epochs of each run that training has reached; all of them once it is finished."""
        self.finished: set[str] = set()
        self.told: dict[str, int] = {}
        """The last epoch of each run that callbacks were told of."""

    def update(self, lanes: list[Lane], waiting: int) -> None:
        for lane in lanes:
            id = lane.job.config.id
            if lane.status != "running":
                self.finished.add(id)
            self.at[id] = lane.job.config.epochs if id in self.finished else lane.epoch
            if lane.last and self.told.get(id) != lane.last["epoch"]:
                self.told[id] = int(lane.last["epoch"])
                self._call({"run": id, "seed": lane.job.config.seed, "status": lane.status, **lane.last})
        if self.bar is not None:
            running = [lane for lane in lanes if lane.job.config.id not in self.finished]
            share = sum(self.at.values()) / max(self.epochs, 1)
            self.bar.show(share, self._text(running or lanes))
        if self.more is not None:
            self.more.update(lanes, waiting)

    def _text(self, lanes: Sequence[Lane]) -> str:
        best = max((lane.last.get("test_accuracy", float("nan")) for lane in lanes), default=float("nan"))
        accuracy = f", best test accuracy {best:.1%}" if best == best else ""
        epoch = max((lane.epoch for lane in lanes), default=0)
        return f"{len(self.finished)} of {self.runs} runs finished, epoch {epoch:,}{accuracy}"

    def _call(self, row: dict[str, Any]) -> None:
        for callback in tuple(self.callbacks):
            try:
                callback(row)
            except Exception as error:
                self.callbacks.remove(callback)
                name = getattr(callback, "__name__", type(callback).__name__)
                text = " ".join(f"{type(error).__name__}: {error}".split())
                print(f"callback {name} failed and is not called again ({text})", file=sys.stderr)


class Bar:
    """A bar of one line."""

    def __init__(self) -> None:
        self.last = 0.0

    def show(self, share: float, text: str) -> None:
        now = time.monotonic()
        if share >= 1 or now - self.last >= EVERY:
            self.last = now
            full = round(WIDTH * min(share, 1))
            self.draw(f"{'█' * full}{'░' * (WIDTH - full)} {min(share, 1):4.0%}  {text}")

    def draw(self, line: str) -> None:
        """On a terminal, over the previous line."""
        print(f"\r\033[2K{line}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.last:
            print(file=sys.stderr)


class NotebookBar(Bar):
    """The same in the output of a notebook's cell."""

    def __init__(self) -> None:
        super().__init__()
        self.handle: Any = None

    def draw(self, line: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        shown = {"text/plain": line}
        if self.handle is None:
            self.handle = display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)

    def close(self) -> None:
        """Nothing to do: the cell keeps the last line."""


def bar_for(progress: Any) -> Bar | None:
    """The bar for the `progress` argument of `train`: "auto" shows one in a notebook and on a terminal, True always, False and None
    never."""
    if progress in (False, None):
        return None
    if progress not in ("auto", True):
        raise ConfigError(
            "progress", f"{progress!r} is neither 'auto', True nor False, nor has it update(lanes, waiting)"
        )
    if in_notebook():
        return NotebookBar()
    return Bar() if progress is True or sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    own = shell.get_ipython() if shell is not None else None
    return own is not None and type(own).__name__ == "ZMQInteractiveShell"
