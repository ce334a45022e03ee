"""Exactly at a threshold, as accuracies are stored: float32, computed as a mean of correct answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grokscope.thresholds import reaches


@pytest.mark.parametrize(
    ("correct", "threshold"), [(95, 0.95), (99, 0.99), (80, 0.8), (70, 0.7), (50, 0.5), (100, 1.0)]
)
def test_exactly_at_the_threshold_counts(correct: int, threshold: float) -> None:
    stored = torch.tensor([1.0] * correct + [0.0] * (100 - correct)).mean()
    for accuracy in (stored, stored.item(), np.float32(stored.item()), np.float64(stored.item())):
        assert reaches(accuracy, threshold)
    assert not reaches(torch.tensor([1.0] * (correct - 1) + [0.0] * (101 - correct)).mean().item(), threshold)


def test_some_of_these_are_stored_below_what_they_stand_for() -> None:
    assert float(np.float32(0.95)) < 0.95 and float(np.float32(0.7)) < 0.7


@given(st.integers(1, 100_000), st.data())
def test_a_share_reaches_itself_and_not_the_next_one(examples: int, data: st.DataObject) -> None:
    correct = data.draw(st.integers(0, examples - 1))
    accuracy = float(np.float32(correct / examples))
    assert reaches(accuracy, correct / examples)
    assert not reaches(accuracy, (correct + 1) / examples)


def test_columns_and_missing_values() -> None:
    column = pd.Series([0.2, np.float32(0.95), np.nan])
    assert reaches(column, 0.95).tolist() == [False, True, False]
    assert not reaches(float("nan"), 0.0)
