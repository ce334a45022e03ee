"""The chain of Lemma 5.1: gradients against autograd, every bound above what it bounds."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from theory_cases import below, lemma_case, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.theory import (
    logit_gradient_bound,
    logit_gradient_bound_closed,
    representation_gradient_bound,
    residual_bound,
    value_gap_bound,
)


@pytest.mark.equation("structural-inference", "30")
def test_representation_gradient_bound_by_hand() -> None:
    assert_close(representation_gradient_bound(tensor(3.0), tensor(2.0)), tensor(6.0))


@pytest.mark.equation("structural-inference", "30")
@some
@given(seed=seeds)
def test_gradient_on_the_pooled_value_is_bounded(seed: int) -> None:
    case = lemma_case(seed)
    assert below(case.on_pooled.norm(dim=-1), representation_gradient_bound(case.lipschitz, case.cross_entropy))


@pytest.mark.equation("structural-inference", "4, tight", "4", "37")
def test_lemma_by_hand() -> None:
    attention, values, h = tensor([0.25, 0.75]), tensor([[4.0], [0.0]]), tensor([1.0])
    # reach (¾, ¾), times L = 2, times √(2 · 8) = 4
    assert_close(logit_gradient_bound(attention, values, h, tensor(2.0), tensor(8.0)), tensor([6.0, 6.0]))
    assert_close(logit_gradient_bound_closed(tensor(2.0), tensor(4.0), tensor(1.0), tensor(8.0)), tensor(64.0))


@pytest.mark.equation("structural-inference", "4, tight", "4", "37")
@some
@given(seed=seeds)
def test_lemma_holds_and_its_closed_form_is_looser(seed: int) -> None:
    case = lemma_case(seed)
    tight = logit_gradient_bound(case.attention, case.values, case.pooled, case.lipschitz, case.cross_entropy)
    closed = logit_gradient_bound_closed(case.lipschitz, case.value_norm, case.embedding_norm, case.cross_entropy)
    assert below(case.on_logits.abs(), tight)
    assert below(tight, closed[:, None] / 4)


@pytest.mark.equation("structural-inference", "4", "4, tight")
def test_lemma_fails_for_linear_attention_with_small_scores() -> None:
    """α_j = relu(ℓ_j)/Σ relu(ℓ): ∂h/∂ℓ_j = (v_j − h)/Σ relu(ℓ), which grows as the scores shrink."""
    scores = tensor([0.01, 0.01], dtype=torch.float64, requires_grad=True)
    values = tensor([[1.0], [-1.0]], dtype=torch.float64)
    h = (scores / scores.sum()) @ values
    read_out = tensor([[1.0, -1.0]], dtype=torch.float64)
    loss = F.cross_entropy(h @ read_out, tensor(1))
    (gradient,) = torch.autograd.grad(loss, scores)
    lipschitz, one = tensor(math.sqrt(2), dtype=torch.float64), tensor(1.0, dtype=torch.float64)
    assert gradient.abs().amax() > 5 * logit_gradient_bound_closed(lipschitz, one, one, loss.detach())
    # with the true sensitivity in place of α_j the tight form holds
    reach = torch.full((2,), 1 / 0.02, dtype=torch.float64)
    assert below(gradient.abs(), logit_gradient_bound(reach, values, h.detach(), lipschitz, loss.detach()))


@pytest.mark.equation("structural-inference", "29")
def test_residual_bound_by_hand() -> None:
    # p = (¼, ¾) for the label 0: CE = log 4
    assert_close(residual_bound(tensor(math.log(4))), tensor(math.sqrt(2 * math.log(4))))


@pytest.mark.equation("structural-inference", "29")
@some
@given(seed=seeds)
def test_residuals_stay_below_the_bound(seed: int) -> None:
    case = lemma_case(seed)
    assert below(case.residual.abs().sum(-1), residual_bound(case.cross_entropy))


@pytest.mark.equation("structural-inference", "35", "36")
def test_value_gap_bound_by_hand() -> None:
    assert_close(value_gap_bound(tensor(5.0), tensor(0.5)), tensor(5.0))


@pytest.mark.equation("structural-inference", "35", "36")
@some
@given(seed=seeds)
def test_values_are_no_further_from_the_mean_than_the_bound(seed: int) -> None:
    case = lemma_case(seed)
    largest = value_gap_bound(case.value_norm, case.embedding_norm)[:, None]
    assert below(case.gap, largest)
    assert below(case.attention * case.gap, largest / 4)  # α (1 − α) ≤ ¼, which the paper does not use
