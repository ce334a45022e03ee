"""The messages to one page: plain data about the runs that its filters select.

A message holds the rows of the table that changed since the last one, and the curves if any of them changed: these are sent whole,
on a bounded number of epochs, so that a run that goes back or is deleted needs no special case.
"""

from __future__ import annotations

from typing import Any

from .board import Board
from .choice import Choice
from .drawing import curves, details, grouped
from .positions import PositionNames
from .run import LiveRun
from .summary import filters, head, order, outcome, row

LISTED = 500
"""Runs in the table."""


class View:
    """What one page shows of the board."""

    def __init__(self, board: Board, choice: Choice, positions: PositionNames | None = None):
        self.board, self.choice, self.positions = board, choice, positions or PositionNames()
        self._rows: dict[str, dict[str, Any]] | None = None
        self._sent: dict[str, object] = {}
        """By part of a message, what it was made from."""

    def message(self) -> dict[str, Any]:
        """What changed since the last message; call it with the board's lock held."""
        chosen = sorted((run for run in self.board.runs.values() if self.choice.selects(run)), key=order)
        message: dict[str, Any] = {"head": head(self.board, chosen)}
        rows = {run.info.id: row(run) for run in chosen[:LISTED]}
        known = self._rows or {}
        changed = {id: own for id, own in rows.items() if known.get(id) != own}
        if changed or self._rows is None or list(rows) != list(known):
            message |= {"rows": changed, "order": list(rows)}
        self._rows = rows
        if self._is_new("filters", self.board.settings_version):
            message["filters"] = filters(self.board.runs.values())
        selected = self._selected()
        if self._is_new("curves", ([(run, run.follower.version, run.condition) for run in chosen], selected)):
            message["curves"] = curves(self.choice, chosen, selected)
        outcomes = {name: outcome(members) for name, members in grouped(self.choice, chosen).items()}
        if self._is_new("outcomes", outcomes):
            message["outcomes"] = outcomes
        if self._is_new("selected", (selected, selected and selected.version, self.names_known())):
            known_names = self.positions(selected.info) if selected and selected.info.config else None
            message["selected"] = (
                details(self.choice, selected, known_names) if selected else {"id": self.choice.run, "gone": True}
            )
        return message

    def names_known(self) -> bool:
        """Whether the positions of the selected run have names; reading them takes a while."""
        selected = self._selected()
        return selected is not None and bool(selected.info.config) and self.positions(selected.info) is not None

    def _selected(self) -> LiveRun | None:
        return self.board.runs.get(self.choice.run)

    def _is_new(self, part: str, made_from: object) -> bool:
        """Whether a part is made from something else than in the last message."""
        new = part not in self._sent or self._sent[part] != made_from
        self._sent[part] = made_from
        return new
