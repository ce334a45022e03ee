"""docs/equations.md: the index of equations for people, formulas typeset."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from .adversaries.base import CAP, COMMAND

IndexRow = dict[str, Any]
"""One equation, as `equation_index.rows` gives it."""

PAPERS = {"structural-inference": "Structural inference", "grokking-tickets": "Grokking tickets"}

INTRO = f"""# Equations

<!-- Written by `python -m tools.equation_index`; `make check` fails when it is stale. -->

**Of structural inference the formulas are restored.** The text of that paper that this page rests on has the numbers of its
equations and the sentences around them, but none of its formulas. What stands here was put back from those sentences and from
the proofs, and checked by hand; constants, in particular, may differ from the paper's. *Not true as stated* is therefore said
only where it holds whatever the constants are; what fails in the form restored here, and may be true in another, is listed apart.
The formulas of grokking tickets are the paper's own.

Every equation of the two papers that grokscope computes with is one function, tested with a case computed by hand and with
random ones. Those that the instrument calls stand in `grokscope.theory`, those of one paper alone in `grokscope.papers`;
*used by* names the files that call a function. For an inequality, the *tightest ratio* is how much of the bound the worst
case found by an adversary uses: 1 is tight, above 1 breaks it (`{COMMAND}` repeats the search).

A number with a word after it ("29, sharp") is a part or a variant of the numbered statement; its text states when it is not in
the paper. Of structural inference, Eq. 10 and 15 are missing, and 41, 43, 44, 46 and 51 are steps between their neighbours.
"""


def page(table: list[IndexRow]) -> str:
    """The whole page."""
    return "\n".join([INTRO, *_refuted(table), *_restored(table), *_tightness(table), *_sections(table)])


def _refuted(table: list[IndexRow]) -> list[str]:
    lines = ["## Not true as stated", "", "| number | statement | what shows it |", "|---|---|---|"]
    lines += [f"| {_link(r)} | {_cell(r['formula'])} | {_cell(r['refuted'])} |" for r in table if r["refuted"]]
    return [*lines, ""]


def _restored(table: list[IndexRow]) -> list[str]:
    lines = ["## Not true in the form restored here", "", "| number | form | what shows it |", "|---|---|---|"]
    found = [r for r in table if r["fails_as_restored"]]
    lines += [f"| {_link(r)} | {_cell(r['formula'])} | {_cell(r['fails_as_restored'])} |" for r in found]
    return [*lines, ""]


def _tightness(table: list[IndexRow]) -> list[str]:
    lines = ["## How tight the bounds are", "", "| number | bound | tightest ratio found |", "|---|---|---|"]
    bounds = [r for r in table if r["tightest_ratio"] is not None]
    lines += [f"| {_link(r)} | {_cell(r['formula'])} | {ratio(r)} |" for r in bounds]
    return [*lines, ""]


def ratio(row: IndexRow) -> str:
    """The tightest ratio in words."""
    value = row["tightest_ratio"]
    if value is None:
        return ""
    if value >= CAP:
        return f"over {CAP:.0f}, broken{'' if row['refuted'] else ' as restored'}"
    if row["refuted"]:
        return f"{value:.3g}, broken"
    return f"{value:.3g}, broken as restored" if row["fails_as_restored"] else f"{value:.3f}"


def _sections(table: list[IndexRow]) -> list[str]:
    lines: list[str] = []
    for theme, group in groupby(table, key=lambda row: row["theme"]):
        lines += [f"## {theme.rstrip('.')}", ""]
        for row in group:
            lines += _entry(row)
    return lines


def _entry(row: IndexRow) -> list[str]:
    tests = ", ".join(f"[{t.split('::')[1]}](../{t.split('::')[0]})" for t in row["tested"])
    lines = [f"### {_heading(row)}", "", _escape(row["statement"]), "", "$$", row["tex"], "$$", ""]
    lines += ["| symbol | argument | meaning |", "|---|---|---|"]
    lines += [f"| {_cell(s)} | `{a}` | {_cell(m)} |" for s, a, m in row["symbols"]]
    lines += [""]
    for remark in row["remarks"]:
        lines += [_escape(remark), ""]
    if row["refuted"]:
        lines += [f"**Not true as stated.** {_escape(_sentence(row['refuted']))}.", ""]
    if row["fails_as_restored"]:
        lines += [f"**Not true in the form restored here.** {_escape(_sentence(row['fails_as_restored']))}.", ""]
    lines += [f"- function: [`{row['function'].rsplit('.', 1)[1]}`](../{row['file']})"]
    lines += [f"- used by: {_users(row)}", f"- tested: {tests}"]
    if row["tightest_ratio"] is not None:
        lines += [f"- tightest ratio found: {ratio(row)}"]
    return [*lines, ""]


def _sentence(text: str) -> str:
    return (
        text[0].upper() + text[1:] if text[0].isascii() else text
    )  # α would become a capital alpha, which looks like A


def _users(row: IndexRow) -> str:
    """The files that call the function, by their names inside the package."""
    return ", ".join(f"[{path.removeprefix('src/grokscope/')}](../{path})" for path in row["used_by"]) or "tests only"


def _heading(row: IndexRow) -> str:
    return f"{PAPERS[row['paper']]}, {' and '.join(row['numbers'])}"


def _link(row: IndexRow) -> str:
    kept = "".join(c for c in _heading(row).lower().replace(" ", "-") if c.isalnum() or c in "-_")
    return f"[{', '.join(row['numbers'])}](#{kept})"


def _cell(text: str) -> str:
    return _escape(text).replace("|", "\\|")


def _escape(text: str) -> str:
    """Stars and underscores are the papers' symbols here, not emphasis."""
    return text.replace("*", "\\*").replace("_", "\\_")
