"""Columns of a table of runs: what a run is called, how far it is, when it memorised and grokked, and any of its settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..conditions import resolve, short_keys, shown_value
from ..errors import ConfigError, StoreError, nearest_setting
from ..scores import shown_score
from ..settings import flatten
from ..tasks import score_name

if TYPE_CHECKING:
    from ..analysis import Criterion, Times
    from ..store import RunInfo

RUN_COLUMNS = {
    "run": "Id of the run, as other commands take it.",
    "name": "Name that the user gave it.",
    "tags": "Tags that the user gave it.",
    "seed": "Seed of the run.",
    "status": "running, stopped, failed, done, grokked, diverged or damaged.",
    "epoch": "Epoch of its newest checkpoint.",
    "t_mem": "Epoch at which train accuracy (R² of a regression) met the criterion.",
    "t_grok": "Epoch at which test accuracy (R² of a regression) met the criterion.",
    "t_mem_first": "First epoch with train accuracy at the threshold.",
    "t_grok_first": "First epoch with test accuracy at the threshold.",
    "tau_grok": "t_gen / t_mem, both at 95 %.",
    "train": "Train accuracy, or R², at the last evaluation.",
    "test": "Test accuracy, or R², at the last evaluation.",
    "seconds": "Seconds of training.",
    "created": "When it was created, in UTC.",
}
"""The columns of `grokscope runs` that are not settings."""
SHARES = {"train": "train_accuracy", "test": "test_accuracy"}
TIMES = ("t_mem", "t_grok", "t_mem_first", "t_grok_first", "tau_grok")


class RunColumns:
    """The values of the columns for some runs."""

    def __init__(self, found: Sequence[RunInfo], criterion: Criterion):
        self.found = found
        self.times, self.problems = times_of(found, criterion)
        self.scores = {run.id: score_name(run.config) for run in found}
        self._settings = {run.id: flatten(run.config) for run in found}
        self.settings = list(dict.fromkeys(name for own in self._settings.values() for name in own))
        """Every setting of any of the runs, by dotted name."""

    def resolve(self, name: str, option: str) -> str:
        """The whole name of a column: `beta` stands for prior.beta."""
        if name in RUN_COLUMNS:
            return name
        for whole, other in (SHARES | {"run": "id"}).items():  # as `--json` calls them
            if name == other:
                return whole
        try:
            return resolve(name, self.settings)
        except ConfigError as error:
            if "ambiguous" in error.problem:
                raise ConfigError(option, f"{name} {error.problem}") from None
            hint = nearest_setting(name, [*RUN_COLUMNS, *self.settings])
            hint = hint if hint.startswith("Did you mean") else "See grokscope list columns, or a setting of the runs."
            raise ConfigError(option, f"no column is called {name!r}. {hint}") from None

    def value(self, run: RunInfo, column: str) -> Any:
        """The plain value; None if there is none."""
        if column in TIMES:
            own = self.times.get(run.id)
            return None if own is None else getattr(own, column)
        plain: dict[str, Callable[[], Any]] = {
            "run": lambda: run.id,
            "name": lambda: run.name,
            "tags": lambda: ", ".join(run.tags),
            "status": lambda: run.status,
            "epoch": lambda: run.epoch,
            "seconds": lambda: run.seconds,
            "created": lambda: run.manifest.get("created"),
        }
        if column in SHARES:
            value = run.summary.get(SHARES[column])
            return value if isinstance(value, (int, float)) and math.isfinite(value) else None
        return plain[column]() if column in plain else self._settings[run.id].get(column)

    def text(self, run: RunInfo, column: str) -> str:
        """The value as a table shows it."""
        from ..analysis import unreached_word

        value = self.value(run, column)
        if column in ("t_mem", "t_grok") and value is None:
            return unreached_word(run.status if run.id in self.times else "damaged")
        if column in SHARES:
            return shown_score(value, self.scores[run.id], mixed=len(set(self.scores.values())) > 1).replace(" %", "%")
        if column == "created":
            return "–" if value is None else str(value)[:16].replace("T", " ")
        if column == "seconds":
            return f"{value:.1f}"
        if value is None or value == "":
            return "" if column in ("name", "tags") or column in self.settings else "–"
        return shown_value(value)

    def headers(self, columns: Sequence[str]) -> dict[str, str]:
        """A short name for each column."""
        own = [name for name in columns if name not in RUN_COLUMNS]
        short = short_keys(own)
        return {name: short.get(name, name) if short.get(name) not in RUN_COLUMNS else name for name in columns}


def times_of(found: Sequence[RunInfo], criterion: Criterion) -> tuple[dict[str, Times], dict[str, str]]:
    """The times of the runs that can be read, and the problems of the others, both by id."""
    from ..analysis import times_of_each

    problems = {run.id: run.problem for run in found if run.problem}
    intact = [run for run in found if not run.problem]
    times: dict[str, Times] = {}
    for run, own in zip(intact, times_of_each(intact, criterion), strict=True):
        if isinstance(own, StoreError):
            problems[run.id] = str(own)
        else:
            times[run.id] = own
    return times, problems
