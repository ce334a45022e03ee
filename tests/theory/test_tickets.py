"""Tickets: ratio of times, masks, norms, distances."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.theory import controlled_dense, grokking_ratio, jaccard_distance, magnitude_mask, norm_ratio


@pytest.mark.equation("grokking-tickets", "§3.1, τ_grok")
def test_grokking_ratio_by_hand() -> None:
    assert_close(grokking_ratio(tensor(20000.0), tensor(500.0)), tensor(40.0))


@pytest.mark.equation("grokking-tickets", "§3.1, τ_grok")
@some
@given(seed=seeds)
def test_grokking_ratio_does_not_depend_on_the_clock(seed: int) -> None:
    draw = Draw(seed)
    late, early, unit = draw.positive(), draw.positive(), draw.positive()
    assert_close(grokking_ratio(late * unit, early * unit), grokking_ratio(late, early))


@pytest.mark.equation("grokking-tickets", "§2, mask")
def test_magnitude_mask_by_hand() -> None:
    weights = tensor([0.1, -3.0, 2.0, -0.5, 0.0])
    assert magnitude_mask(weights, 0.6).tolist() == [False, True, True, False, False]
    assert magnitude_mask(torch.ones(4), 0.5).tolist() == [True, True, False, False]  # exactly half, also among equals


@pytest.mark.equation("grokking-tickets", "§2, mask")
@some
@given(seed=seeds, pruned=st.floats(0, 0.99))
def test_magnitude_mask_keeps_the_largest(seed: int, pruned: float) -> None:
    weights = Draw(seed).normal(11)
    mask = magnitude_mask(weights, pruned)
    assert (mask.sum(-1) == 11 - round(11 * pruned)).all()
    kept = weights.abs().masked_fill(~mask, float("inf")).amin(-1)
    assert (weights.abs().masked_fill(mask, 0).amax(-1) <= kept).all()


@pytest.mark.equation("grokking-tickets", "§4.1, r_p", "§4.1, controlled dense")
def test_controlled_dense_by_hand() -> None:
    weights, mask = tensor([3.0, -4.0, 12.0]), tensor([True, True, False])
    assert_close(norm_ratio(weights, mask, 2), tensor(5 / 13))
    assert_close(norm_ratio(weights, mask, 1), tensor(7 / 19))
    assert_close(controlled_dense(weights, mask, 1), weights * 7 / 19)


@pytest.mark.equation("grokking-tickets", "§4.1, r_p", "§4.1, controlled dense")
@some
@given(seed=seeds, p=st.sampled_from([1, 2, 3.5]))
def test_controlled_dense_has_the_norm_of_the_ticket(seed: int, p: float) -> None:
    draw = Draw(seed)
    weights, mask = draw.normal(9), draw.share(9) < 0.5
    dense = controlled_dense(weights, mask, p)
    assert_close(dense.norm(p, dim=-1), (weights * mask).norm(p, dim=-1))
    assert (norm_ratio(weights, mask, p) <= 1 + 1e-12).all()


@pytest.mark.equation("grokking-tickets", "§5.1, JD")
def test_jaccard_distance_by_hand() -> None:
    one, other = tensor([True, True, True, False]), tensor([False, True, True, True])
    assert_close(jaccard_distance(one, other), tensor(0.5))
    assert jaccard_distance(one, one) == 0 and jaccard_distance(one, ~one) == 1
    nothing = torch.zeros(4, dtype=torch.bool)
    assert jaccard_distance(nothing, nothing) == 0


@pytest.mark.equation("grokking-tickets", "§5.1, JD")
@some
@given(seed=seeds)
def test_jaccard_distance_is_a_distance(seed: int) -> None:
    draw = Draw(seed)
    a, b, c = (draw.share(8) < 0.5 for _ in range(3))
    assert_close(jaccard_distance(a, b), jaccard_distance(b, a))
    assert (jaccard_distance(a, c) <= jaccard_distance(a, b) + jaccard_distance(b, c) + 1e-6).all()
    assert torch.equal(jaccard_distance(a, b) == 0, (a == b).all(-1))
