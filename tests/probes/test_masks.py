"""Matrices and masks for pictures, and how they are packed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grokscope.probes.masks import masks
from grokscope.store.blocks import flag_cell, flags_of, number_cells, numbers_of

SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))


@given(arrays(np.float32, SHAPES, elements=st.floats(-100, 100, width=32)))
def test_numbers_come_back_within_half_a_step(matrix):
    cells = number_cells(matrix)
    np.testing.assert_allclose(numbers_of(cells), matrix, rtol=0, atol=cells["scale"] / 253)


@given(arrays(np.bool_, SHAPES))
def test_flags_come_back(matrix):
    np.testing.assert_array_equal(flags_of(flag_cell(matrix), *matrix.shape), matrix)


def blocks(table):
    return {
        row["layer"]: (numbers_of(row), flags_of(row["mask"], row["rows"], row["columns"]), row)
        for row in table.to_dict("records")
    }


def test_a_dense_run_shows_what_pruning_would_leave(made):
    stored = made(p=11)
    found = blocks(masks(stored))
    assert list(found) == list(stored.network().weights)
    for layer, (numbers, mask, row) in found.items():
        weight = stored.network().weights[layer]
        assert (row["epoch"], row["size"]) == (20, f"{weight.shape[0]} × {weight.shape[1]}")
        assert mask.sum() == weight.numel() - round(0.6 * weight.numel())
        assert np.abs(numbers[mask]).min() >= np.abs(numbers[~mask]).max() - row["scale"] / 127
        np.testing.assert_allclose(numbers, weight, atol=row["scale"] / 253)


def test_a_pruned_run_shows_what_is_left(made):
    weight = torch.ones(6, 4)
    weight[:, 1] = 0
    _, mask, _ = blocks(masks(made(W_in=weight)))["W_in"]
    np.testing.assert_array_equal(mask, weight.numpy() != 0)


def test_large_matrices_are_cut(made):
    weight = torch.randn(150, 200, generator=torch.Generator().manual_seed(0))
    numbers, mask, row = blocks(masks(made(W_in=weight)))["W_in"]
    assert row["size"] == "150 × 200"
    assert numbers.shape == mask.shape == (128, 128)
    np.testing.assert_allclose(numbers, weight[:128, :128], atol=row["scale"] / 253)
    assert mask.mean() == pytest.approx(0.4, abs=0.02)
