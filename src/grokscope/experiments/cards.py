"""One verdict card per claim: what is said, what the runs say, the effects with their intervals, and the details folded.

Also the table of all claims and the counts of verdicts. A page that contains this HTML says what the ledger says: `check_pages`
compares it literally.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Template

from ..pages import environment
from .base import PAPERS, VERDICTS
from .column_words import in_words
from .counts import either
from .effects import AT_THE_EDGE, axis_svg, effect_axis, effect_svg
from .ledger import decided

SHOWN = 8
"""Cases of a card that are not folded."""
NAMED = 4
"""Cases up to which the sentence about them names each."""

MARKS = {"agrees": "✓", "agrees in part": "◐", "disagrees": "✗", "cannot be told": "?", "not tested": "–"}
"""Signs of the verdicts; each stands beside its word, and no two differ by colour alone."""
WORDS = {
    "agrees": "Our runs agree",
    "agrees in part": "Our runs agree in part",
    "disagrees": "Our runs disagree",
    "cannot be told": "Our runs cannot tell",
    "not tested": "Not tested",
}
SAYS = {"paper": "The paper says", "critic": "A critic says", "ours": "We say"}
THEIRS = {"paper": "of the papers", "critic": "of critics", "ours": "ours"}
"""Rows of the counts below that of all."""
WHOSE = {"paper": "", "critic": "A claim of the paper's critics.", "ours": "A claim of our own, in no paper."}


def card(row: Mapping[str, Any]) -> str:
    """The card of a row of the ledger, as HTML."""
    axes = {
        name: effect_axis([case["effects"][0] for case in own], [case["asked"] for case in own if case["asked"]])
        for name, own in _by_name(row["cases"]).items()
    }
    cases = [_case(case, axes) for case in row["cases"]]
    shown = cases if len(cases) <= SHOWN + 1 else cases[:SHOWN]
    return _template("card").render(
        row=row,
        mark=MARKS[row["verdict"]],
        word=WORDS[row["verdict"]],
        says=SAYS[row["of"]],
        whose=WHOSE[row["of"]],
        tables=[_table(part) for part in (shown, cases[len(shown) :]) if part],
        found=_found(row),
        notes=_notes(row),
        q=f"{row['q']:.2g}" + ("" if decided(dict(row)) else " (not below 0.05)") if row["q"] is not None else "",
        p=_p(row["p"]),
        slug=row["verdict"].replace(" ", "-"),
        seeds=either(row["seeds_per_arm"]) if row["seeds_per_arm"] else "",
        epochs=either(row["epochs"]) if row["epochs"] else "",
    )


def ledger_row(row: Mapping[str, Any]) -> str:
    """The row of the table of all claims, as HTML."""
    verdict = row["verdict"]
    numbers = {"p": _p(row["p"]), "q": _p(row["q"])}
    return _template("ledger_row").render(row=row, mark=MARKS[verdict], order=VERDICTS.index(verdict), **numbers)


def counts_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Verdicts by paper, and by whose the statements are, as HTML."""
    names = sorted({row["paper"] for row in rows}, key=lambda name: (PAPERS.index(name) if name in PAPERS else 9, name))
    counted = [(name, paper_title(name), Counter(r["verdict"] for r in rows if r["paper"] == name)) for name in names]
    counted.append(("", "All", Counter(row["verdict"] for row in rows)))
    for whose, title in THEIRS.items():
        counted.append(("", title, Counter(row["verdict"] for row in rows if row["of"] == whose)))
    return _template("counts").render(counted=counted, verdicts=VERDICTS, marks=MARKS)


def paper_title(name: str) -> str:
    """structural-inference → Structural inference"""
    return name.replace("-", " ").capitalize()


@cache
def _template(name: str) -> Template:
    return environment().get_template(f"experiments/{name}.html.j2")


def _by_name(cases: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The cases by the names of the effects that decide them."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        if case["effects"]:
            groups.setdefault(_kind(case["effects"][0]), []).append(case)
    return groups


def _kind(effect: Mapping[str, Any]) -> str:
    """What effects of one scale have in common: their name, without the epoch of an accuracy, and without remarks."""
    return re.sub(r"\baccuracy_\d+$", "test accuracy", effect["name"].removesuffix(AT_THE_EDGE))


def _table(cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The cases of one table, with ticks under the last of each scale, and the effect that they have in common, if any."""
    kinds = {case["kind"]: number for number, case in enumerate(cases) if case["kind"]}
    rows = [{**case, "axis": case["axis"] if kinds.get(case["kind"]) == at else ""} for at, case in enumerate(cases)]
    names = {case["effect"] for case in cases if case["kind"]}
    common = names.pop() if len(names) == 1 else in_words(next(iter(kinds))) if len(kinds) == 1 else ""
    return {"cases": rows, "effect": common}


def _found(row: Mapping[str, Any]) -> str:
    """Which cases have which verdict, where they differ; of many, how many."""
    if not row["when"] or len(row["cases"]) <= NAMED:
        return row["when"]
    counts = Counter(case["verdict"] for case in row["cases"])
    first, *others = (f"{verdict} in {counts[verdict]}" for verdict in VERDICTS if counts[verdict])
    return ", ".join([f"{first} of {len(row['cases'])} cases", *others])


def _notes(row: Mapping[str, Any]) -> list[str]:
    """What the table of cases does not say: further effects, what was measured in each arm, size and power."""
    notes = []
    for case in row["cases"]:
        name = "" if not case["name"] or case["measured"].startswith(f"{case['name']}: ") else f"{case['name']}: "
        parts = [
            *(in_words(effect["text"]) for effect in case["effects"][1:]),
            case["measured"] if case["effects"] else "",
        ]
        if simulated := case["simulated"]:
            power = f"power {100 * simulated['power']:.0f} % at {simulated['at']} (simulated)"
            parts.append(f"size {100 * simulated['size']:.1f} %, {power}")
        if said := "; ".join(filter(None, parts)):
            notes.append(name + said)
    # after one line per case, the ledger names the runs that diverged
    lines = sum(1 + case["measured"].count("\n") for case in row["cases"])
    return notes + (row["measured"].split("\n")[lines:] if row["cases"] else [])


def _case(case: Mapping[str, Any], axes: Mapping[str, Any]) -> dict[str, Any]:
    first = case["effects"][0] if case["effects"] else None
    axis = axes[_kind(first)] if first else None
    known = first is not None and any(first[end] is not None for end in ("low", "value", "high"))
    return {
        "name": case["name"] or "all runs",
        "mark": MARKS[case["verdict"]],
        "verdict": case["verdict"],
        "slug": case["verdict"].replace(" ", "-"),
        "text": "" if first else case["blocked"] or case["measured"],
        "value": first["numbers"] if first else "",
        "effect": in_words(first["name"]) if first else "",
        "of": first["of"] if first else "",
        "picture": effect_svg(first, axis, case["asked"]) if first and axis and known else "",
        "axis": axis_svg(axis) if axis and known else "",
        "kind": _kind(first) if first else "",
        "p": _p(case["p"]),
        "seeds": case["seeds"] or "",
        "note": case["blocked"] or case["note"] if first else "",
    }


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2g}" if value > 0 else "< 1e-300"
