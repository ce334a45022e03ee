"""`grokscope.log`: a training loop of your own as a run, without a network to watch. `report`, phases and times work on it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..config.watched import KIND
from ..errors import ConfigError, GrokscopeError, nearest, shown
from .measuring import plain

if TYPE_CHECKING:
    import pandas as pd

    from ..store import RunInfo
    from .storing import Row, Stored

EXPECTED = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
"""Columns that times, phases and figures read; NaN where a row does not have them."""


def log(
    to: str | Path = "runs",
    *,
    name: str = "loop",
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    again: bool = False,
) -> LoggedRun:
    """Write a training loop of your own as a run.

        with grokscope.log("runs", name="mine", seed=0, settings={"lr": 1e-3}) as run:
            for epoch in range(1000):
                ...
                run.row(epoch, train_accuracy=a, test_accuracy=b, train_loss=c, grad_norm=g)

        grokscope.plot.curves("runs")
        # grokscope runs; grokscope report

    to         folder of runs
    name       what the run is called
    seed       which repetition it is
    settings   what distinguishes it from other runs, such as {"lr": 1e-3}: the arms of a report
    again      replace a stored run that has the same name, seed and settings

    Accuracies are fractions. Times are found from `train_accuracy` and `test_accuracy`, phases also from `grad_M`. Columns such as
    `D` and `mlp_norm` (see `grokscope list columns`) are drawn by the figures that are about them.
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ConfigError("seed", f"{shown(seed)} is not an integer of at least 0")
    if not name:
        raise ConfigError("name", "is empty")
    return LoggedRun(to, {"kind": KIND, "name": name, "settings": dict(settings or {}), "seed": seed}, again)


class LoggedRun:
    """A run that is being written; see `log`. It is a context manager: leaving it saves and ends the run."""

    def __init__(self, to: str | Path, config: Mapping[str, Any], again: bool):
        from .storing import Stored

        self._stored: Stored | None = Stored(to, config, device="", again=again)
        self.id: str = self._stored.id
        self.path: Path = self._stored.path
        self.rows: list[Row] = []
        """The rows so far."""
        self._begin = time.monotonic()

    def __repr__(self) -> str:
        return f"<LoggedRun {self.id}, {len(self.rows)} rows{'' if self._stored else ', ended'}>"

    def row(self, epoch: int, **values: Any) -> None:
        """Add an evaluation.

        epoch    above that of the row before; a step will do
        values   numbers, tensors with one element, or functions that return one, by column
        """
        if self._stored is None:
            raise GrokscopeError(f"run {self.id} has ended; open another one with grokscope.log")
        if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
            raise ConfigError("epoch", f"{shown(epoch)} is not an integer of at least 0")
        if self.rows and epoch <= self.rows[-1]["epoch"]:
            raise ConfigError("epoch", f"{epoch} is not above {self.rows[-1]['epoch']:.0f}, that of the row before")
        numbers = {column: _number(column, value) for column, value in values.items()}
        self._check(numbers)
        known = dict.fromkeys(EXPECTED, math.nan) | numbers
        own = {"epoch": epoch, "seconds": time.monotonic() - self._begin, **known}
        self.rows.append(own)
        self._stored.add(own)

    def _check(self, numbers: Mapping[str, float]) -> None:
        """Refuse what would silently be a wrong number: percentages, and a column that is spelt in two ways."""
        for column in ("train_accuracy", "test_accuracy"):
            if (value := numbers.get(column, 0.0)) > 1 or value < 0:
                raise ConfigError(column, f"{value:g} is not a fraction between 0 and 1")
        for column in numbers:
            hint = nearest(column, EXPECTED)
            if column not in EXPECTED and column.replace("_", "") in {name.replace("_", "") for name in EXPECTED}:
                raise ConfigError(column, f"is not a column that times are found from. {hint}")

    def close(self, error: BaseException | None = None) -> RunInfo:
        """Save and end the run, and return it; leaving the `with` statement does so by itself."""
        from ..store import read_run

        stored, self._stored = self._stored, None
        if stored is not None:
            stored.finish(error)
        return read_run(self.path)

    def frame(self) -> pd.DataFrame:
        """The rows so far as a table."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(error)


def _number(column: str, value: Any) -> float:
    try:
        return plain(value)
    except (TypeError, ValueError, RuntimeError):  # PyTorch's error for a tensor with several elements
        what = shown(value) if isinstance(value, str) else type(value).__name__
        raise ConfigError(column, f"{what} is neither a number nor a tensor or function that gives one") from None
