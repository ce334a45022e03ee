"""One verdict card per claim: what is said, what the runs say, the effects with their intervals, and the details folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Template

from ..pages import environment
from .effects import axis_svg, effect_axis, effect_svg
from .ledger import decided

SHOWN = 8
"""Cases of a card that are not folded."""

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


def card(row: Mapping[str, Any]) -> str:
    """The card of a row of the ledger, as HTML. A page that contains it says what the row says."""
    axes = {name: effect_axis(own) for name, own in _by_name(row["cases"]).items()}
    cases = [_case(case, axes) for case in row["cases"]]
    shown = cases if len(cases) <= SHOWN + 1 else cases[:SHOWN]
    return _template().render(
        row=row,
        mark=MARKS[row["verdict"]],
        word=WORDS[row["verdict"]],
        says=SAYS[row["of"]],
        cases=shown,
        folded=cases[len(shown) :],
        notes=row["measured"].split("\n"),
        q=f"{row['q']:.2g}" + ("" if decided(dict(row)) else " (not below 0.05)") if row["q"] is not None else "",
        p=_p(row["p"]),
        slug=row["verdict"].replace(" ", "-"),
    )


@cache
def _template() -> Template:
    return environment().get_template("experiments/card.html.j2")


def _by_name(cases: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The effects that decide, by their names."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for effect in (case["effects"][0] for case in cases if case["effects"]):
        groups.setdefault(_kind(effect), []).append(effect)
    return groups


def _kind(effect: Mapping[str, Any]) -> str:
    """What effects of one scale have in common: shares of different arms are still shares."""
    return next((word for word in ("share of", "mean of accuracy") if effect["name"].startswith(word)), effect["name"])


def _case(case: Mapping[str, Any], axes: Mapping[str, Any]) -> dict[str, Any]:
    first = case["effects"][0] if case["effects"] else None
    axis = axes[_kind(first)] if first else None
    known = first is not None and any(first[end] is not None for end in ("low", "value", "high"))
    simulated = case["simulated"]
    return {
        "name": case["name"] or "all runs",
        "mark": MARKS[case["verdict"]],
        "verdict": case["verdict"],
        "slug": case["verdict"].replace(" ", "-"),
        "text": first["text"] if first else case["measured"],
        "more": [effect["text"] for effect in case["effects"][1:]],
        "picture": effect_svg(first, axis) if first and axis and known else "",
        "axis": axis_svg(axis) if axis and known else "",
        "kind": _kind(first) if first else "",
        "p": _p(case["p"]),
        "seeds": case["seeds"] or "",
        "blocked": case["blocked"],
        "power": f"size {100 * simulated['size']:.1f} %, power {100 * simulated['power']:.0f} % at {simulated['at']}"
        if simulated
        else "",
    }


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2g}" if value > 0 else "< 1e-300"
