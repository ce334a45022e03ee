"""Arms that differ in one number (a rate, a strength, an epoch): an ordered quantity, to be drawn in a sequential colour map."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

NUMBER = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+\.?\d*(?:e-?\d+)?)(?![\d.]*\w)", re.ASCII)
"""A number that is a word of its own: 0.003 and 10,000, not that of L1, S3 or float32."""
ALL = 10**9
ALPHABETS = {"constant distractors": "q = 1", "operand vocabulary": f"q = {ALL}"}
"""Distractor alphabets in words: one symbol, and all operands; the number of symbols orders them."""
OPERANDS = re.compile(r"q = operands")


def sequences(names: Sequence[str]) -> list[list[str]]:
    """Groups of arms whose names differ in one number alone, each in the order of that number; arms in no group are omitted.

    An arm belongs to one group: in a cross of two settings, to the first that it fits.
    """
    groups: list[list[str]] = []
    left = list(dict.fromkeys(names))
    while left:
        first, *others = left
        group = sequence_with(first, others)
        if len(group) > 1:
            groups.append(group)
        left = [name for name in others if name not in group]
    return groups


def sequence_with(first: str, others: Sequence[str]) -> list[str]:
    """An arm and those that differ from it in one number alone, sorted by it.

    Of several numbers, the one in which most arms differ.
    """
    template, numbers = _split(first)
    found: list[list[tuple[float, str]]] = [[(number, first)] for number in numbers]
    for name in others:
        other, values = _split(name)
        changed = [at for at, (a, b) in enumerate(zip(numbers, values, strict=False)) if a != b]
        if other == template and len(changed) == 1:
            found[changed[0]].append((values[changed[0]], name))
    best: list[tuple[float, str]] = max(found, key=len) if found else []
    return [name for _, name in sorted(best)]


def _split(name: str) -> tuple[str, tuple[float, ...]]:
    """ticket at 2,000 → ("ticket at #", (2000.0,))"""
    plain = ", ".join(ALPHABETS.get(part, part) for part in name.split(", "))
    plain = OPERANDS.sub(ALPHABETS["operand vocabulary"], plain)
    return NUMBER.sub("#", plain), tuple(float(found.replace(",", "")) for found in NUMBER.findall(plain))


def common_name(group: Sequence[str]) -> str:
    """The name of a sequence, with … for the number in which its arms differ: rate 0.1 and rate 0.2 → rate …"""
    template, first = _split(group[0])
    change = _changing(group)
    texts = iter("…" if at == change else f"{number:g}" for at, number in enumerate(first))
    return re.sub("#", lambda _: next(texts), template)


def values(group: Sequence[str]) -> list[float]:
    """The numbers in which the arms of a sequence differ; infinite for an alphabet of all operands."""
    change = _changing(group)
    found = [_split(name)[1][change] for name in group]
    return [math.inf if value >= ALL else value for value in found]


def _changing(group: Sequence[str]) -> int:
    """Which of the numbers in their names differs."""
    numbers = list(zip(*(_split(name)[1] for name in group), strict=True))
    return next((at for at, column in enumerate(numbers) if len(set(column)) > 1), 0)
