"""Small multiples: which arms share a panel, so that no panel holds more than a few overlapping curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .sequences import common_name, sequence_with, sequences
from .style import meaning_of

TOGETHER = 6
"""Most arms that share a panel, unless they are one sequence."""
SHORTEST = 3
"""Fewest arms of a sequence that has a panel of its own."""


class Facet(NamedTuple):
    """One panel of several."""

    title: str
    arms: list[str]
    sequence: list[str]
    """Those of its arms that form one sequence, if any."""

    def label(self, arm: str) -> str:
        """The name of an arm in this panel, without what the title says."""
        return arm.removeprefix(f"{self.title}, ")


def facets(names: Sequence[str]) -> list[Facet]:
    """Which arms share a panel: all of them if they are few; else a panel for each sequence, with the arms of no sequence as a
    reference in all of them; else for each setting beside the one with a meaning; else for each arm.
    """
    arms = list(dict.fromkeys(names))
    ordered = sequences([name for name in arms if not meaning_of(name)])
    single = [name for name in arms if not any(name in group for group in ordered)]
    if len(ordered) == 1 and len(single) <= 2:
        return [Facet("", arms, ordered[0])]
    if len(arms) <= TOGETHER:
        return [Facet("", arms, [])]
    if ordered and len(single) <= 2 and min(map(len, ordered)) >= SHORTEST:
        whole = [
            sequence_with(group[0], [name for name in arms if name not in (group[0], *single)]) for group in ordered
        ]
        return [Facet(common_name(group), [*single, *group], group) for group in whole]
    groups: dict[str, list[str]] = {}
    for name in arms:
        groups.setdefault(_beside(name), []).append(name)
    if "" in groups or len(groups) == 1 or max(map(len, groups.values())) > TOGETHER:
        return [Facet(name, [name], []) for name in arms]
    return [Facet(title, own, []) for title, own in groups.items()]


def _beside(name: str) -> str:
    """The parts of a name before the one that has a meaning: no decay, oracle → no decay"""
    parts = name.split(", ")
    place = next((at for at in reversed(range(len(parts))) if meaning_of(parts[at])), 0)
    return ", ".join(parts[:place])
