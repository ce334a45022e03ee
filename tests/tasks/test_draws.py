"""Rows by number, and distinct rows."""

from __future__ import annotations

import pytest
import torch

from grokscope.randomness import stream
from grokscope.tasks.draws import LARGEST_TABLE, distinct, draw, numbered


def test_numbered_counts_with_the_last_column_fastest() -> None:
    rows = numbered(torch.arange(6), (range(2), range(1, 4)))
    assert rows.tolist() == [[0, 1], [0, 2], [0, 3], [1, 1], [1, 2], [1, 3]]


def test_distinct_keeps_the_first_of_equal_rows_in_order() -> None:
    rows = torch.tensor([[3, 1], [0, 2], [3, 1], [0, 1], [0, 2]])
    assert distinct(rows).tolist() == [[3, 1], [0, 2], [0, 1]]


@pytest.mark.parametrize("last", [range(1, 3), range(1, LARGEST_TABLE)])
def test_drawn_rows_are_distinct_and_within_their_columns(last: range) -> None:
    columns = (range(5), last)
    rows = draw(columns, 10, stream(0, "split"))
    assert len({tuple(row) for row in rows.tolist()}) == 10
    assert all(value in column for row in rows.tolist() for value, column in zip(row, columns, strict=True))
