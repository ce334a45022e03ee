"""The chain of Lemma 5.1: gradients against autograd, every bound above what it bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from theory_cases import CASES, Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.theory import (
    logit_gradient,
    logit_gradient_bound,
    logit_gradient_bound_closed,
    logit_gradient_cauchy_schwarz,
    pooled,
    pooled_jacobian,
    representation_gradient_bound,
    residual_bound,
    residual_bound_sharp,
    spectral_norm,
    two_layer_lipschitz,
    value_gap_bound,
)


class Example(NamedTuple):
    """A batch through attention and MLP, with gradients from autograd."""

    attention: Tensor
    values: Tensor
    pooled: Tensor
    value_norm: Tensor
    embedding_norm: Tensor
    lipschitz: Tensor
    residual: Tensor
    cross_entropy: Tensor
    on_pooled: Tensor
    on_logits: Tensor

    @property
    def gap(self) -> Tensor:
        return (self.values - self.pooled[:, None]).norm(dim=-1)


def example(seed: int) -> Example:
    draw = Draw(seed)
    d, hidden, classes = draw.width, draw.whole(1, 8), draw.whole(2, 6)
    logits, embeddings, W_V = draw.normal(draw.positions).requires_grad_(), draw.values(), draw.normal(d, d)
    W_in, W_out = draw.normal(d, hidden), draw.normal(hidden, classes)
    labels = torch.randint(0, classes, (CASES,), generator=draw.generator)
    attention, values = torch.softmax(logits, -1), embeddings @ W_V
    h = pooled(attention, values)
    answers = (torch.relu(h[:, None] @ W_in) @ W_out)[:, 0]
    loss = F.cross_entropy(answers, labels, reduction="none")
    on_pooled, on_logits = torch.autograd.grad(loss.sum(), (h, logits))
    residual = (torch.softmax(answers, -1) - F.one_hot(labels, classes)).detach()
    norms = spectral_norm(W_V), embeddings.norm(dim=-1).amax(-1), two_layer_lipschitz(W_in, W_out)
    return Example(attention.detach(), values, h.detach(), *norms, residual, loss.detach(), on_pooled, on_logits)


def below(small: Tensor, large: Tensor) -> bool:
    """≤ up to rounding; a loss of 1e-12 knows its root to 1e-2 of itself only."""
    return bool((small <= large * (1 + 1e-9) + 1e-12 * (1 + large.amax())).all())


@pytest.mark.equation("structural-inference", "29", "29, sharp")
def test_residual_bounds_by_hand() -> None:
    # p = (¼, ¾) for the label 0: CE = log 4, ‖p − y‖ = ¾ √2
    loss = tensor(math.log(4))
    assert_close(residual_bound(loss), tensor(math.sqrt(2 * math.log(4))))
    assert_close(residual_bound_sharp(loss), tensor(0.75 * math.sqrt(2)))


@pytest.mark.equation("structural-inference", "29", "29, sharp")
@some
@given(seed=seeds)
def test_residuals_stay_below_both_bounds(seed: int) -> None:
    case = example(seed)
    size = case.residual.norm(dim=-1)
    assert below(size, residual_bound_sharp(case.cross_entropy))
    assert below(residual_bound_sharp(case.cross_entropy), residual_bound(case.cross_entropy))
    assert below(case.residual.abs().sum(-1), residual_bound(case.cross_entropy))


def test_the_square_root_is_lost_when_the_loss_is_small() -> None:
    loss = tensor([1e-2, 1e-4, 1e-6], dtype=torch.float64)
    assert_close(residual_bound_sharp(loss) / residual_bound(loss), loss.sqrt(), rtol=1e-2, atol=0)


@pytest.mark.equation("structural-inference", "30")
def test_representation_gradient_bound_by_hand() -> None:
    assert_close(representation_gradient_bound(tensor(3.0), tensor(2.0)), tensor(6.0))


@pytest.mark.equation("structural-inference", "30")
@some
@given(seed=seeds)
def test_gradient_on_the_pooled_value_is_bounded(seed: int) -> None:
    case = example(seed)
    assert below(case.on_pooled.norm(dim=-1), representation_gradient_bound(case.lipschitz, case.cross_entropy))


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
    case = example(seed)
    ours = logit_gradient(case.attention, case.values, case.on_pooled)
    assert_close(ours, case.on_logits, rtol=1e-7, atol=1e-9 * (1 + case.on_logits.abs().amax().item()))


@pytest.mark.equation("structural-inference", "34", "35", "36")
def test_steps_of_the_chain_by_hand() -> None:
    bound = logit_gradient_cauchy_schwarz(tensor([0.25, 0.75]), tensor([4.0, 2.0]), tensor(3.0))
    assert_close(bound, tensor([3.0, 4.5]))
    assert_close(value_gap_bound(tensor(5.0), tensor(0.5)), tensor(5.0))


@pytest.mark.equation("structural-inference", "34", "35", "36")
@some
@given(seed=seeds)
def test_steps_of_the_chain_hold(seed: int) -> None:
    case = example(seed)
    step = logit_gradient_cauchy_schwarz(case.attention, case.gap, case.on_pooled.norm(dim=-1))
    assert below(case.on_logits.abs(), step)
    largest = value_gap_bound(case.value_norm, case.embedding_norm)[:, None]
    assert below(case.gap, largest)
    assert below(case.attention * case.gap, largest / 4)  # α (1 − α) ≤ ¼, which the paper does not use


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
    case = example(seed)
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
