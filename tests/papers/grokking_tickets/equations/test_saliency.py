"""SynFlow and edge-popup: closed forms against autograd."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.papers.grokking_tickets.equations import (
    edge_popup_input,
    edge_popup_update,
    synflow_objective,
    synflow_saliency,
)
from grokscope.theory import edge_popup_mask, synaptic_saliency


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


@pytest.mark.equation("grokking-tickets", "App. H, forward", "App. H, score")
def test_edge_popup_by_hand() -> None:
    scores, mask = tensor([[0.9, 0.1], [0.2, 0.3]]), tensor([[True, False], [False, True]])
    weights, outputs = tensor([[2.0, 3.0], [5.0, 7.0]]), tensor([[1.0, 10.0]])
    assert_close(edge_popup_input(outputs, weights, mask), tensor([[2.0, 70.0]]))
    updated = edge_popup_update(scores, weights, outputs, tensor([[1.0, -1.0]]), 0.1)
    assert_close(updated, tensor([[0.9 - 0.2, 0.1 + 0.3], [0.2 - 5.0, 0.3 + 7.0]]))


@pytest.mark.equation("grokking-tickets", "App. H, forward")
@some
@given(seed=seeds)
def test_what_arrives_is_a_sum_over_the_kept_edges(seed: int) -> None:
    draw = Draw(seed)
    scores, weights, outputs = draw.normal(4, 3), draw.normal(4, 3), draw.normal(5, 4)
    mask = edge_popup_mask(scores, 0.4)
    by_edges = torch.einsum("nei,nij,nij->nej", outputs, weights, mask.double())
    assert_close(edge_popup_input(outputs, weights, mask), by_edges)
