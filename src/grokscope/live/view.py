"""What one page shows of the board: the runs that its filters select, their curves, and the run that is selected.

A message is plain data. It holds the rows of the table that changed since the last one, and the curves if any of them changed:
these are sent whole, on a bounded number of epochs, so that a run that goes back or is deleted needs no special case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..analysis import DEFAULT
from ..describe import SILENT
from ..store import FINISHED
from .board import Board, LiveRun
from .curves import band, common_epochs, plain, sampled
from .panels import PANELS
from .positions import PositionNames

MOST_LINES = 20
"""Runs that are drawn as lines; of more, the median and a band per colour are drawn."""
MOST_COLOURS = 7
"""Conditions that have a colour each; more share one, until a setting is chosen to colour by."""
MOST_VALUES = 30
"""Values of a setting that can be chosen from."""
LISTED = 500
"""Runs in the table."""
ALL = "all runs in view"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the reader of a page has chosen."""

    where: Mapping[str, str] = field(default_factory=dict)
    """Settings, by dotted name."""
    status: str = ""
    text: str = ""
    """Part of an id or of a condition."""
    by: str = ""
    """Setting by which runs are coloured; by default the condition."""
    run: str = ""
    """Id of the selected run."""
    linear: bool = False
    """Whether the axis of epochs is linear."""

    def selects(self, run: LiveRun) -> bool:
        if self.status and self.status != status_group(run.info.status):
            return False
        if self.text and self.text.lower() not in f"{run.info.id} {run.condition}".lower():
            return False
        return all(word(run.settings.get(name)) == value for name, value in self.where.items())


class View:
    """The messages to one page."""

    def __init__(self, board: Board, choice: Choice, positions: PositionNames | None = None):
        self.board, self.choice, self.positions = board, choice, positions or PositionNames()
        self._sent: dict[str, dict[str, Any]] = {}
        self._curves_of: object = None
        self._selected_of: object = None
        self._filters: object = None
        self._outcomes: object = None

    def message(self) -> dict[str, Any]:
        """What changed since the last message; call it with the board's lock held."""
        chosen = [run for run in self.board.runs.values() if self.choice.selects(run)]
        chosen.sort(key=_order)
        message: dict[str, Any] = {"head": self._head(chosen)}
        rows = {run.info.id: _row(run) for run in chosen[:LISTED]}
        changed = {id: row for id, row in rows.items() if self._sent.get(id) != row}
        if changed or rows.keys() != self._sent.keys():
            message["rows"] = changed
            message["order"] = list(rows)
        self._sent = rows
        filters = _filters(self.board.runs.values())
        if filters != self._filters:
            self._filters = message["filters"] = filters
        selected = self.board.runs.get(self.choice.run)
        curves_of = [(run.info.id, run.follower.version, run.condition) for run in chosen]
        if (curves_of, selected) != self._curves_of:
            self._curves_of = (curves_of, selected)
            message["curves"] = self._curves(chosen, selected)
        outcomes = {name: _outcome(members) for name, members in self.groups(chosen).items()}
        if outcomes != self._outcomes:
            self._outcomes = message["outcomes"] = outcomes
        selected_of = (self.choice.run, selected and (selected.version, self.names_known()))
        if selected_of != self._selected_of:
            self._selected_of = selected_of
            message["selected"] = self._selected(selected) if selected else {"id": self.choice.run, "gone": True}
        return message

    def names_known(self) -> bool:
        """Whether the positions of the selected run have names; reading them takes a while."""
        selected = self.board.runs.get(self.choice.run)
        return selected is not None and bool(selected.info.config) and self.positions(selected.info) is not None

    def _head(self, chosen: Sequence[LiveRun]) -> dict[str, Any]:
        statuses = Counter(status_group(run.info.status) for run in chosen)
        training = [run for run in chosen if run.info.status == "running"]
        left = [seconds for run in training if (seconds := run.seconds_left) is not None]
        return {
            "runs": len(chosen),
            "of": len(self.board.runs),
            "unread": self.board.unread,
            "problem": self.board.problem,
            "statuses": dict(statuses),
            "phases": dict(Counter(run.phase for run in chosen if run.phase)),
            "speed": _short(sum(run.speed or 0.0 for run in training)),
            "left": round(max(left)) if left else None,
            "criterion": DEFAULT.describe(),
        }

    def groups(self, chosen: Sequence[LiveRun]) -> dict[str, list[LiveRun]]:
        """The runs of each colour, in order of their first run."""
        by = self.choice.by
        groups: dict[str, list[LiveRun]] = {}
        for run in sorted(chosen, key=lambda run: (run.info.manifest.get("created", ""), run.info.id)):
            if run.info.config:
                name = f"{by} = {word(run.settings.get(by))}" if by else run.condition
                groups.setdefault(name, []).append(run)
        if by and len(groups) > 1:
            groups = dict(sorted(groups.items(), key=lambda item: _natural(item[0].partition(" = ")[2])))
        if len(groups) > MOST_COLOURS and not by:
            return {ALL: [run for members in groups.values() for run in members]}
        return groups

    def _curves(self, chosen: Sequence[LiveRun], selected: LiveRun | None) -> dict[str, Any]:
        from ..figures import arm_colours

        groups = self.groups(chosen)
        drawn = [run for members in groups.values() for run in members]
        lines = len(drawn) <= MOST_LINES
        tables = [run.columns for run in drawn]
        extra = [selected.columns] if selected and selected not in drawn else []
        grid = common_epochs([*tables, *extra], log=not self.choice.linear)
        colours = arm_colours(list(groups))
        labels = _short_names(list(groups))
        panels: dict[str, list[dict[str, Any]]] = {}
        for panel in PANELS:
            series: list[dict[str, Any]] = []
            for number, members in enumerate(groups.values()):
                for place, (metric, _) in enumerate(panel.metrics):
                    mark = {"group": number, "dashed": place > 0}
                    if lines:
                        for run in members:
                            values = plain(sampled(run.columns, metric, grid, positive=panel.log))
                            series.append({**mark, "run": run.info.id, "y": values})
                    else:
                        found = band([run.columns for run in members], metric, grid, positive=panel.log)
                        series.append({**mark, "y": plain(found.middle)})
                        if place == 0:
                            series[-1] |= {"low": plain(found.low), "high": plain(found.high)}
            if selected and (not lines or extra):
                for place, (metric, _) in enumerate(panel.metrics):
                    values = plain(sampled(selected.columns, metric, grid, positive=panel.log))
                    series.append({"group": -1, "dashed": place > 0, "run": selected.info.id, "y": values})
            panels[panel.name] = [own for own in series if any(value is not None for value in own["y"])]
        return {
            "x": grid.tolist(),
            "lines": lines,
            "groups": [
                {"name": name, "label": labels[name], "colour": colours[name], "runs": len(members)}
                for name, members in groups.items()
            ],
            "conditions": len({run.condition for run in drawn}),
            "panels": panels,
        }

    def _selected(self, run: LiveRun) -> dict[str, Any]:
        found = run.phases
        names = sorted((name for name in run.columns if name.startswith("attention_")), key=lambda name: int(name[10:]))
        grid = common_epochs([run.columns], log=not self.choice.linear, points=160)
        masses = [plain(sampled(run.columns, name, grid)) for name in names]
        known = self.positions(run.info) if run.info.config else None
        # Names count back from the query, as positions do: a longer test sequence has unnamed positions on its left.
        shift = len(names) - len(known.names) if known else 0
        labels = [f"position {place + 1}" for place in range(len(names))]
        for place, name in enumerate(known.names if known else []):
            if 0 <= place + shift < len(labels):
                labels[place + shift] = name
        return {
            "id": run.info.id,
            "condition": run.condition,
            "seed": run.info.config.get("seed"),
            "status": run.info.status,
            "reason": run.info.reason or run.info.problem,
            "settings": [[name, word(value)] for name, value in run.settings.items()],
            "sentences": found.describe(DEFAULT, run.info.status) if found else [],
            "spans": [list(span) for span in found.borders] if found else [],
            "attention": {
                "epochs": grid.tolist(),
                "mass": masses,
                "names": labels,
                "informative": [place + shift for place in known.informative] if known else [],
            }
            if masses and len(grid)
            else None,
        }


def status_group(status: str) -> str:
    """running, finished, stopped, failed or damaged."""
    return "finished" if status in FINISHED else status


def word(value: Any) -> str:
    """A setting as it is shown and compared."""
    return "–" if value is None else str(value)


def _row(run: LiveRun) -> dict[str, Any]:
    info, phases = run.info, run.phases
    return {
        "condition": run.condition,
        "seed": info.config.get("seed"),
        "status": info.status,
        "problem": info.problem or info.reason,
        "epoch": run.epoch,
        "epochs": run.epochs,
        "train": _short(run.last("train_accuracy")),
        "test": _short(run.last("test_accuracy")),
        "phase": run.phase,
        "t_mem": phases.t_mem if phases else None,
        "t_grok": phases.t_grok if phases else None,
        "speed": _short(run.speed),
        "left": None if run.seconds_left is None else round(run.seconds_left),
    }


def _order(run: LiveRun) -> tuple[object, ...]:
    """Running first, then failed ones, then the others; each in order of creation."""
    first = {"running": 0, "failed": 1, "damaged": 1}.get(run.info.status, 2)
    return first, run.info.manifest.get("created", ""), run.info.id


def _filters(runs: Any) -> dict[str, list[str]]:
    """Settings in which the runs differ, seeds aside, with their values."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in run.settings.items():
            values.setdefault(name, {})[word(value)] = None
    return {
        name: sorted(found, key=_natural)
        for name, found in values.items()
        if 1 < len(found) <= MOST_VALUES and name not in SILENT
    }


def _natural(text: str) -> tuple[int, float, str]:
    """Numbers by value, before text."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Names for the ends of lines: "beta = 0.3" where one setting differs, else the values alone, "0.3, oracle"."""
    split = {name: [part.partition(" = ") for part in name.split(", ")] for name in names}
    if {part[0] for parts in split.values() for part in parts} == {parts[0][0] for parts in split.values()}:
        return {name: f"{parts[0][0].rpartition('.')[2]}{parts[0][1]}{parts[0][2]}" for name, parts in split.items()}
    return {name: ", ".join(part[2] or part[0] for part in parts) for name, parts in split.items()}


def _outcome(members: Sequence[LiveRun]) -> str:
    """How many grokked, and the median epoch of those that have."""
    times = [run.phases.t_grok for run in members if run.phases and run.phases.t_grok is not None]
    if not times:
        return "none has grokked" if len(members) > 1 else "not grokked"
    middle = f"epoch {int(np.median(times)):,}"
    return f"grokked at {middle}" if len(members) == 1 else f"{len(times)} of {len(members)} grokked, median {middle}"


def _short(value: float | None) -> float | None:
    return None if value is None else plain(np.array([value]))[0]
