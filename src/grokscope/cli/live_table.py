"""The live table: one line per run, cut to the size of the terminal. Pure drawing; `progress.py` decides when and what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

GAP = 2
"""Spaces between columns."""
NAME = 16
"""Least width of a name: below that, the column D is left out."""
BARS = (20, 10, 0)
"""Widths of the bar that shows test or held-out accuracy: the widest that leaves the names whole."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One run in the table."""

    name: str
    epoch: int
    epochs: int
    row: Mapping[str, float]
    """The last evaluation; empty before the first. Which columns it has depends on model and task."""
    status: str
    regression: bool
    """Whether accuracies are R²."""
    held_out: bool = False
    """Whether validation examples are shown instead of test examples."""

    @property
    def side(self) -> str:
        return "val" if self.held_out else "test"


def draw(lines: Sequence[Line], *, width: int, height: int, footer: str) -> RenderableType:
    """Header, as many of the lines as fit, a footer: at most `height - 1` rows of at most `width` cells."""
    shown = lines[: visible_lines(height)]
    names, columns = _fitted(shown, width)
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for header in ("run", *columns):
        table.add_column(header, justify="left" if header in ("run", "") else "right", no_wrap=True)
    for cells in zip(names, *columns.values(), strict=True):
        table.add_row(*(Text(cell) for cell in cells))  # text, not markup: a name may hold brackets
    return Group(table, Text(shorten(footer, width), no_wrap=True))


def visible_lines(height: int) -> int:
    """Lines that fit besides header and footer; one row stays free for the cursor."""
    return max(height - 3, 1)


def _fitted(lines: Sequence[Line], width: int) -> tuple[list[str], dict[str, list[str]]]:
    """Names and the other columns such that a row has at most `width` cells: narrower bars first, then shorter names."""
    whole = [line.name for line in lines]
    for names in (whole, [compact(name) for name in whole]):
        for bar in BARS:
            columns = _columns(lines, bar)
            left = width - sum(_width(header, cells) + GAP for header, cells in columns.items())
            if _width("", names) <= left:
                return names, columns
    if left < NAME and "D" in columns:
        left += _width("D", columns.pop("D")) + GAP
    return [shorten(name, max(left, 1)) for name in names], columns


def compact(name: str) -> str:
    """`prior.beta = 0.3, seed 0` → `beta=0.3, seed 0`"""
    return re.sub(r"(?:\w+\.)*(\w+) = ", r"\1=", name)


def shorten(text: str, width: int) -> str:
    """At most `width` cells; of a longer text the beginning and the end, since runs differ in both."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 2
    tail = max(width - 1 - head, 0)
    return set_cell_size(text, head) + "…" + set_cell_size(text[::-1], tail)[::-1]


def _columns(lines: Sequence[Line], bar: int) -> dict[str, list[str]]:
    """Cells of all columns but the name, by header; D only where a run has it."""
    kinds = {line.regression for line in lines}
    suffix = " R²" if kinds == {True} else ""
    columns = {"epoch": [f"{line.epoch} / {line.epochs}" for line in lines]}
    columns["train" + suffix] = [_fit(line, "train", mark=len(kinds) > 1) for line in lines]
    other = "held out" if all(line.held_out for line in lines) else "test"
    columns[other + suffix] = [_fit(line, line.side, mark=len(kinds) > 1) for line in lines]
    if any("D" in line.row for line in lines):
        columns["D"] = [f"{line.row['D']:.2f}" if "D" in line.row else "" for line in lines]
    columns[""] = [_state(line, bar) for line in lines]
    return columns


def _fit(line: Line, side: str, mark: bool) -> str:
    """Accuracy in per cent or R²; where both kinds share a table, R² is marked in the cell."""
    value = line.row.get(f"{side}_accuracy")
    if value is None:
        return ""
    if line.regression:
        return f"{'R² ' if mark else ''}{value:.2f}"
    return f"{100 * value:.1f}%"


def _state(line: Line, bar: int) -> str:
    value = line.row.get(f"{line.side}_accuracy", 0.0)
    full = round(bar * min(max(value, 0.0), 1.0)) if value == value else 0  # NaN fills nothing
    drawn = f"{'█' * full:<{bar}}"  # as wide as a full one, so that the other columns stay in place
    if line.status == "running":
        return drawn
    return f"{drawn} {line.status}" if bar else line.status


def _width(header: str, cells: Sequence[str]) -> int:
    return max(cell_len(text) for text in (header, *cells))
