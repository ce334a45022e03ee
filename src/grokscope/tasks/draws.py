"""Distinct rows of a table. Rows are combinations of the values that each column takes; a table too large to hold is sampled."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from ..shapes import Int, checked

LARGEST_TABLE = 2**17
"""Tables with more rows are sampled."""


def draw(columns: tuple[range, ...], count: int, generator: Generator) -> Int[Tensor, "row column"]:
    """`count` different rows of the table, in random order."""
    rows = math.prod(len(column) for column in columns)
    if rows <= LARGEST_TABLE:
        return numbered(torch.randperm(rows, generator=generator)[:count], columns)
    drawn = torch.empty(0, len(columns), dtype=torch.long)
    while len(drawn) < count:
        fresh = [torch.randint(column.start, column.stop, (count,), generator=generator) for column in columns]
        drawn = distinct(torch.cat([drawn, torch.stack(fresh, dim=1)]))
    return drawn[:count]


@checked
def numbered(number: Int[Tensor, "row"], columns: tuple[range, ...]) -> Int[Tensor, "row column"]:
    """Rows of the table by their number; the last column changes fastest."""
    values = []
    for column in reversed(columns):
        values.append(column.start + number % len(column))
        number = number // len(column)
    return torch.stack(values[::-1], dim=1)


@checked
def distinct(rows: Int[Tensor, "row column"]) -> Int[Tensor, "kept column"]:
    """The first of every group of equal rows, in the order of `rows`."""
    groups, group = torch.unique(rows, dim=0, return_inverse=True)
    first = torch.full((len(groups),), len(rows)).scatter_reduce(0, group, torch.arange(len(rows)), "amin")
    return rows[first.sort().values]
