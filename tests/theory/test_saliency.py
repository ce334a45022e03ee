"""Saliency and edge-popup: closed forms against autograd."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from theory_cases import Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.theory import (
    edge_popup_input,
    edge_popup_mask,
    edge_popup_update,
    grasp_saliency,
    snip_saliency,
    synaptic_saliency,
    synflow_objective,
    synflow_saliency,
)


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


@pytest.mark.equation("grokking-tickets", "App. G, R_SF", "App. G, SynFlow")
def test_synflow_by_hand() -> None:
    """Paths through (1, −2; 0, 3) and (−1; 4): 1·1 + 2·4 from the first input, 3·4 from the second."""
    layers = [tensor([[1.0, -2.0], [0.0, 3.0]]), tensor([[-1.0], [4.0]])]
    assert_close(synflow_objective(layers), tensor(21.0))
    first, second = synflow_saliency(layers)
    assert_close(first, tensor([[1.0, 8.0], [0.0, 12.0]]))
    assert_close(second, tensor([[1.0], [20.0]]))


@pytest.mark.equation("grokking-tickets", "App. G, R_SF", "App. G, SynFlow")
@some
@given(seed=seeds)
def test_synflow_is_that_of_autograd_and_conserved(seed: int) -> None:
    draw = Draw(seed)
    sides = [draw.whole(1, 4) for _ in range(draw.whole(2, 5))]
    layers = [draw.normal(a, b).requires_grad_() for a, b in pairwise(sides)]
    objective = synflow_objective(layers)
    gradients = torch.autograd.grad(objective.sum(), layers)
    ours = synflow_saliency([layer.detach() for layer in layers])
    for layer, gradient, score in zip(layers, gradients, ours, strict=True):
        assert_close(score, synaptic_saliency(layer.detach(), gradient))
        assert_close(score.sum((-2, -1)), objective.detach())


@pytest.mark.equation("grokking-tickets", "App. H, h(s)", "App. H, forward", "App. H, score")
def test_edge_popup_by_hand() -> None:
    scores = tensor([[0.9, 0.1], [0.2, 0.3]])
    mask = edge_popup_mask(scores, 0.5)
    assert mask.tolist() == [[True, False], [False, True]]
    weights, outputs = tensor([[2.0, 3.0], [5.0, 7.0]]), tensor([[1.0, 10.0]])
    assert_close(edge_popup_input(outputs, weights, mask), tensor([[2.0, 70.0]]))
    updated = edge_popup_update(scores, weights, outputs, tensor([[1.0, -1.0]]), 0.1)
    assert_close(updated, tensor([[0.9 - 0.2, 0.1 + 0.3], [0.2 - 5.0, 0.3 + 7.0]]))


@pytest.mark.equation("grokking-tickets", "App. H, h(s)", "App. H, forward")
@some
@given(seed=seeds, pruned=st.floats(0, 0.99))
def test_edge_popup_uses_the_best_edges_of_each_layer(seed: int, pruned: float) -> None:
    draw = Draw(seed)
    scores, weights, outputs = draw.normal(4, 3), draw.normal(4, 3), draw.normal(5, 4)
    mask = edge_popup_mask(scores, pruned)
    assert (mask.sum((-2, -1)) == 12 - round(12 * pruned)).all()
    kept = scores.masked_fill(~mask, float("inf")).amin((-2, -1))
    assert (scores.masked_fill(mask, float("-inf")).amax((-2, -1)) <= kept).all()
    by_edges = torch.einsum("nei,nij,nij->nej", outputs, weights, mask.double())
    assert_close(edge_popup_input(outputs, weights, mask), by_edges)


@pytest.mark.equation("grokking-tickets", "App. H, score")
@some
@given(seed=seeds)
def test_edge_popup_update_is_a_straight_through_gradient_step(seed: int) -> None:
    draw = Draw(seed)
    scores, weights, outputs = draw.normal(4, 3), draw.normal(4, 3), draw.normal(5, 4)
    mask = edge_popup_mask(scores, 0.5)
    through = mask.double().requires_grad_()  # as if h(s) were s
    arriving = outputs @ (weights * through)
    loss = torch.tanh(arriving).square().sum()
    on_scores, on_arriving = torch.autograd.grad(loss, (through, arriving))
    updated = edge_popup_update(scores, weights, outputs, on_arriving, 0.1)
    assert_close(updated, scores - 0.1 * on_scores, rtol=1e-9, atol=1e-9)
