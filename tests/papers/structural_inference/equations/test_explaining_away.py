"""Steps of Lemma 5.1: gradients against autograd, every bound above what it bounds."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, below, lemma_case, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import (
    logit_gradient,
    logit_gradient_cauchy_schwarz,
    pooled_jacobian,
    residual_bound_sharp,
)
from grokscope.theory import residual_bound


@pytest.mark.equation("structural-inference", "29, sharp")
def test_sharp_residual_bound_by_hand() -> None:
    # p = (¼, ¾) for the label 0: CE = log 4, ‖p − y‖ = ¾ √2
    assert_close(residual_bound_sharp(tensor(math.log(4))), tensor(0.75 * math.sqrt(2)))


@pytest.mark.equation("structural-inference", "29, sharp")
@some
@given(seed=seeds)
def test_residuals_stay_below_both_bounds(seed: int) -> None:
    case = lemma_case(seed)
    assert below(case.residual.norm(dim=-1), residual_bound_sharp(case.cross_entropy))
    assert below(residual_bound_sharp(case.cross_entropy), residual_bound(case.cross_entropy))


def test_the_square_root_is_lost_when_the_loss_is_small() -> None:
    loss = tensor([1e-2, 1e-4, 1e-6], dtype=torch.float64)
    assert_close(residual_bound_sharp(loss) / residual_bound(loss), loss.sqrt(), rtol=1e-2, atol=0)


@pytest.mark.equation("structural-inference", "31", "32", "33")
def test_logit_gradient_by_hand() -> None:
    # h = ¼ · 4 + ¾ · 0 = 1: ∂h/∂ℓ = (¼ · 3, ¾ · −1)
    attention, values = tensor([0.25, 0.75]), tensor([[4.0], [0.0]])
    assert_close(pooled_jacobian(attention, values), tensor([[0.75], [-0.75]]))
    assert_close(logit_gradient(attention, values, tensor([2.0])), tensor([1.5, -1.5]))


@pytest.mark.equation("structural-inference", "31", "32")
@some
@given(seed=seeds)
def test_pooled_jacobian_is_that_of_autograd(seed: int) -> None:
    draw = Draw(seed)
    logits, values = draw.normal(draw.positions), draw.values()
    for ell, v in zip(logits, values, strict=True):
        theirs = torch.func.jacrev(lambda x, v=v: torch.softmax(x, -1) @ v)(ell)
        assert_close(pooled_jacobian(torch.softmax(ell, -1), v), theirs.mT, rtol=1e-9, atol=1e-10)


@pytest.mark.equation("structural-inference", "33")
@some
@given(seed=seeds)
def test_logit_gradient_is_that_of_autograd(seed: int) -> None:
    case = lemma_case(seed)
    ours = logit_gradient(case.attention, case.values, case.on_pooled)
    assert_close(ours, case.on_logits, rtol=1e-7, atol=1e-9 * (1 + case.on_logits.abs().amax().item()))


@pytest.mark.equation("structural-inference", "34")
def test_cauchy_schwarz_by_hand() -> None:
    bound = logit_gradient_cauchy_schwarz(tensor([0.25, 0.75]), tensor([4.0, 2.0]), tensor(3.0))
    assert_close(bound, tensor([3.0, 4.5]))


@pytest.mark.equation("structural-inference", "34")
@some
@given(seed=seeds)
def test_cauchy_schwarz_holds(seed: int) -> None:
    case = lemma_case(seed)
    step = logit_gradient_cauchy_schwarz(case.attention, case.gap, case.on_pooled.norm(dim=-1))
    assert below(case.on_logits.abs(), step)
