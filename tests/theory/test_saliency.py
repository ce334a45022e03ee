"""Saliency and edge-popup: closed forms against autograd."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from theory_cases import Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.theory import edge_popup_mask, grasp_saliency, snip_saliency, synaptic_saliency


def loss_of(weight: Tensor, inputs: Tensor, target: Tensor) -> Tensor:
    return (torch.tanh(inputs @ weight) - target).square().sum()


@pytest.mark.equation("grokking-tickets", "App. G, S(θ)", "App. G, SNIP", "App. G, GraSP")
def test_saliency_by_hand() -> None:
    """L = θ₁² + 3 θ₂ at (2, −1): gradient (4, 3), Hessian diag(2, 0), H g = (8, 0)."""
    weight, gradient = tensor([2.0, -1.0]), tensor([4.0, 3.0])
    assert_close(synaptic_saliency(weight, gradient), tensor([8.0, -3.0]))
    assert_close(snip_saliency(weight, gradient), tensor([8.0, 3.0]))
    assert_close(grasp_saliency(weight, tensor([8.0, 0.0])), tensor([-16.0, 0.0]))


@pytest.mark.equation("grokking-tickets", "App. G, S(θ)", "App. G, SNIP")
@some
@given(seed=seeds)
def test_saliency_is_the_first_order_effect_of_a_mask(seed: int) -> None:
    """With θ ⊙ c, ∂L/∂c at c = 1 is the saliency: how SNIP is defined."""
    draw = Draw(seed)
    weight, inputs, target = draw.normal(4, 3), draw.normal(5, 4), draw.normal(5, 3)
    c = torch.ones_like(weight).requires_grad_()
    (theirs,) = torch.autograd.grad(loss_of(weight * c, inputs, target), c)
    weight.requires_grad_()
    (gradient,) = torch.autograd.grad(loss_of(weight, inputs, target), weight)
    assert_close(synaptic_saliency(weight.detach(), gradient), theirs)
    assert_close(snip_saliency(weight.detach(), gradient), theirs.abs())


@pytest.mark.equation("grokking-tickets", "App. G, GraSP")
@some
@given(seed=seeds)
def test_grasp_is_the_first_order_effect_on_the_gradient_flow(seed: int) -> None:
    draw = Draw(seed)
    weight, inputs, target = draw.normal(4, 3).requires_grad_(), draw.normal(5, 4), draw.normal(5, 3)
    (gradient,) = torch.autograd.grad(loss_of(weight, inputs, target), weight, create_graph=True)
    (flow,) = torch.autograd.grad(gradient.square().sum() / 2, weight, retain_graph=True)
    (product,) = torch.autograd.grad(gradient, weight, gradient.detach())
    assert_close(grasp_saliency(weight.detach(), product), -flow * weight.detach())


@pytest.mark.equation("grokking-tickets", "App. H, h(s)")
def test_edge_popup_mask_by_hand() -> None:
    assert edge_popup_mask(tensor([[0.9, 0.1], [0.2, 0.3]]), 0.5).tolist() == [[True, False], [False, True]]


@pytest.mark.equation("grokking-tickets", "App. H, h(s)")
@some
@given(seed=seeds, pruned=st.floats(0, 0.99))
def test_edge_popup_keeps_the_best_edges_of_each_layer(seed: int, pruned: float) -> None:
    scores = Draw(seed).normal(4, 3)
    mask = edge_popup_mask(scores, pruned)
    assert (mask.sum((-2, -1)) == 12 - round(12 * pruned)).all()
    kept = scores.masked_fill(~mask, float("inf")).amin((-2, -1))
    assert (scores.masked_fill(mask, float("-inf")).amax((-2, -1)) <= kept).all()
