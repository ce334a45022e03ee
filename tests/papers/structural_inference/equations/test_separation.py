"""Lower bounds on the distance of pooled representations, and how injectivity fails."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import (
    aligned_lower_bound,
    difference_lower_bound,
    injectivity_margin,
    mismatched_lower_bound,
    pooled,
    pooled_difference,
    squared_difference,
)
from grokscope.theory import oracle_target


def offsets(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """a, b, u and w of Eq. 19."""
    draw = Draw(seed)
    return draw.share(), draw.share(), draw.normal(draw.width), draw.normal(draw.width)


def scales(u: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Δ and Δ_emb, as large and as small as they can be."""
    return (u - w).norm(dim=-1), torch.maximum(u.norm(dim=-1), w.norm(dim=-1))


def distance(a: Tensor, b: Tensor, u: Tensor, w: Tensor) -> Tensor:
    return (a[..., None] * u - b[..., None] * w).norm(dim=-1)


@pytest.mark.equation("structural-inference", "18")
def test_lower_bound_by_hand() -> None:
    assert_close(difference_lower_bound(tensor(0.5), tensor(0.25), tensor(4.0), tensor(3.0)), tensor(1.25))
    assert_close(difference_lower_bound(tensor(0.25), tensor(0.5), tensor(4.0), tensor(3.0)), tensor(0.25))


@pytest.mark.equation("structural-inference", "18")
@some
@given(seed=seeds)
def test_lower_bound_holds_for_either_order(seed: int) -> None:
    a, b, u, w = offsets(seed)
    for first, second in ((a, b), (b, a)):
        assert (difference_lower_bound(first, second, *scales(u, w)) <= distance(a, b, u, w) + 1e-9).all()


@pytest.mark.equation("structural-inference", "19")
def test_squared_difference_by_hand() -> None:
    # ‖½ (2, 0) − ¼ (0, 4)‖² = ‖(1, −1)‖² = 2
    assert_close(squared_difference(tensor(0.5), tensor(0.25), tensor([2.0, 0.0]), tensor([0.0, 4.0])), tensor(2.0))


@pytest.mark.equation("structural-inference", "19")
@some
@given(seed=seeds)
def test_squared_difference_is_exact(seed: int) -> None:
    case = offsets(seed)
    assert_close(squared_difference(*case), distance(*case).square(), rtol=1e-9, atol=1e-9)


@pytest.mark.equation("structural-inference", "20", "21")
def test_squared_lower_bounds_by_hand() -> None:
    assert_close(aligned_lower_bound(tensor(0.5), tensor(0.125), tensor(4.0)), tensor(1.0))
    # ½ · ¼ · 16 − ¼ · ½ · 4 = 1.5, and nothing once Δ_emb is large
    assert_close(
        mismatched_lower_bound(tensor(0.5), tensor(0.25), tensor(4.0), tensor([2.0, 9.0])), tensor([1.5**0.5, 0.0])
    )


@pytest.mark.equation("structural-inference", "20", "21")
@some
@given(seed=seeds)
def test_squared_lower_bounds_hold_where_they_say(seed: int) -> None:
    a, b, u, w = offsets(seed)
    separation, spread = scales(u, w)
    aligned = (a - b) * (a * u.square().sum(-1) - b * w.square().sum(-1)) >= 0
    far = distance(a, b, u, w)
    assert (aligned_lower_bound(a, b, separation) <= far + 1e-9)[aligned].all()
    assert (mismatched_lower_bound(a, b, separation, spread) <= far + 1e-9).all()


@pytest.mark.equation("structural-inference", "21")
@some
@given(seed=seeds)
def test_the_squared_bound_never_dominates_the_linear_one_near_equal_masses(seed: int) -> None:
    draw = Draw(seed)
    small, spread = 0.1 + 0.8 * draw.share(), 0.5 + 1.5 * draw.share()
    large, separation = small + 1e-6, torch.ones_like(small)
    linear = difference_lower_bound(large, small, separation, spread)
    assert (mismatched_lower_bound(large, small, separation, spread) <= linear + 1e-10).all()


@pytest.mark.equation("structural-inference", "28")
def test_injectivity_fails_under_the_structural_condition() -> None:
    a, b, u, w = tensor(0.5), tensor(0.25), tensor([1.0, 0.0]), tensor([2.0, 0.0])
    assert_close(injectivity_margin(torch.minimum(a, b), (u - w).norm()), tensor(0.25))
    assert_close(pooled_difference(a, b, u, w, torch.zeros(2)), torch.zeros(2))


@pytest.mark.equation("structural-inference", "28")
@some
@given(seed=seeds)
def test_injectivity_holds_for_equal_masses(seed: int) -> None:
    a, _, u, w = offsets(seed)
    assert (injectivity_margin(a + 1e-12, (u - w).norm(dim=-1)) <= distance(a, a, u, w) + 1e-9).all()


@some
@given(seed=seeds)
def test_under_the_oracle_two_operands_can_be_swapped(seed: int) -> None:
    """e_j = E[token] + P[j]: h is the same for (a, b) and (b, a), so a − b, a ÷ b and σ∘π cannot be read from it."""
    draw = Draw(seed)
    E, P, W_V = draw.normal(5, 4), draw.normal(3, 4), draw.normal(4, 4)
    oracle = oracle_target(tensor([True, True, False]), torch.float64).expand(len(E), 3)
    h, swapped = (pooled(oracle, (E[:, order] + P) @ W_V) for order in ([0, 1, 4], [1, 0, 4]))
    assert_close(h, swapped, rtol=1e-9, atol=1e-9)
