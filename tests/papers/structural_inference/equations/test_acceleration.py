"""The KL prior: its gradient against autograd, its flow against integration, and where its bounds break."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from theory_cases import Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import (
    augmented_logit_gradient,
    augmented_loss,
    delay_bound,
    divergence_envelope,
    divergence_flow,
    local_pl_constant,
    logit_flow,
    pl_constant,
    quadratic_divergence,
    softmax_jacobian,
    sparse_divergence_envelope,
)
from grokscope.theory import divergence, oracle_target


def follow(logits: Tensor, target: Tensor, strength: Tensor, time: float, steps: int = 40) -> tuple[Tensor, Tensor]:
    """The flow of Eq. 47 by Runge–Kutta: log α at the end, and the least α_j/α*_j on the support on the way."""

    def slope(x: Tensor) -> Tensor:
        return logit_flow(torch.softmax(x, -1), target, strength)

    least, dt = torch.full(logits.shape[:-1], math.inf, dtype=logits.dtype), time / steps
    for _ in range(steps):
        k1 = slope(logits)
        k2 = slope(logits + dt / 2 * k1)
        k3 = slope(logits + dt / 2 * k2)
        logits = logits + dt / 6 * (k1 + 2 * k2 + 2 * k3 + slope(logits + dt * k3))
        ratio = (torch.softmax(logits, -1) / target).where(target > 0, math.inf)
        least = torch.minimum(least, ratio.amin(-1))
    return torch.log_softmax(logits, -1), least


@pytest.mark.equation("structural-inference", "6", "8")
def test_augmented_loss_and_gradient_by_hand() -> None:
    assert_close(augmented_loss(tensor(0.5), tensor(2.0), 0.25), tensor(1.0))
    gradient = augmented_logit_gradient(tensor([0.1, -0.1]), tensor([0.75, 0.25]), tensor([0.5, 0.5]), tensor(2.0))
    assert_close(gradient, tensor([0.6, -0.6]))


@pytest.mark.equation("structural-inference", "6", "8")
@some
@given(seed=seeds)
def test_augmented_gradient_is_that_of_the_augmented_loss(seed: int) -> None:
    draw = Draw(seed)
    logits, target, strength = draw.normal(draw.positions).requires_grad_(), draw.attention(), draw.positive()
    task = (torch.softmax(logits, -1) * draw.normal(draw.positions)).sum(-1).square()
    (on_task,) = torch.autograd.grad(task.sum(), logits, retain_graph=True)
    D = divergence(target, torch.log_softmax(logits, -1)).clamp_min(0)
    (on_loss,) = torch.autograd.grad(augmented_loss(task, D, strength).sum(), logits)
    attention = torch.softmax(logits, -1).detach()
    assert_close(augmented_logit_gradient(on_task, attention, target, strength), on_loss, rtol=1e-7, atol=1e-9)


@pytest.mark.equation("structural-inference", "42")
def test_softmax_jacobian_by_hand() -> None:
    assert_close(softmax_jacobian(tensor([0.25, 0.75])), tensor([[0.1875, -0.1875], [-0.1875, 0.1875]]))


@pytest.mark.equation("structural-inference", "42")
@some
@given(seed=seeds)
def test_softmax_jacobian_is_that_of_autograd(seed: int) -> None:
    draw = Draw(seed)
    for logits in draw.normal(draw.positions):
        theirs = torch.func.jacrev(lambda x: torch.softmax(x, -1))(logits)
        assert_close(softmax_jacobian(torch.softmax(logits, -1)), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.equation("structural-inference", "47", "48")
def test_flow_by_hand() -> None:
    attention, target, strength = tensor([0.7, 0.2, 0.1]), tensor([0.5, 0.5, 0.0]), tensor(2.0)
    assert_close(logit_flow(attention, target, strength), tensor([-0.4, 0.6, -0.2]))
    assert_close(divergence_flow(attention, target, strength), tensor(-2 * 0.14))


@pytest.mark.equation("structural-inference", "47", "48")
@some
@given(seed=seeds)
def test_the_divergence_falls_along_the_flow_as_stated(seed: int) -> None:
    draw = Draw(seed)
    logits, target, strength = draw.normal(draw.positions), draw.attention(), draw.positive()
    direction = logit_flow(torch.softmax(logits, -1), target, strength)
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(divergence(target, torch.log_softmax(logits, -1)).sum(), logits)
    stated = divergence_flow(torch.softmax(logits, -1).detach(), target, strength)
    assert_close(stated, (gradient * direction).sum(-1), rtol=1e-9, atol=1e-9)
    assert (stated <= 0).all()


@pytest.mark.equation("structural-inference", "49")
def test_quadratic_divergence_by_hand() -> None:
    # ½ (0.01/0.5 + 0.01/0.25)
    assert_close(quadratic_divergence(tensor([0.6, 0.15, 0.25]), tensor([0.5, 0.25, 0.25])), tensor(0.03))


@pytest.mark.equation("structural-inference", "49")
@some
@given(seed=seeds)
def test_quadratic_divergence_is_right_to_second_order(seed: int) -> None:
    draw = Draw(seed)
    target = torch.softmax(draw.share(draw.positions), -1)
    direction = target * (draw.share(draw.positions) - 0.5)
    direction = direction - target * direction.sum(-1, keepdim=True)  # sums to zero
    for size in (1e-2, 1e-3):
        attention = target + size * direction
        D, quadratic = divergence(target, attention.log()), quadratic_divergence(attention, target)
        assert_close(D, quadratic, rtol=size, atol=1e-14)


@pytest.mark.equation("structural-inference", "50", "Lemma D.1")
def test_the_local_constant_is_broken_at_every_distance() -> None:
    fair = tensor([0.5, 0.5], dtype=torch.float64)
    assert_close(local_pl_constant(fair), tensor(1.0, dtype=torch.float64))
    for epsilon in (0.3, 0.1, 0.01):
        attention = fair + epsilon * tensor([1.0, -1.0])
        D = divergence(fair, attention.log())
        assert_close(D, tensor(-0.5 * math.log(1 - 4 * epsilon**2), dtype=torch.float64))
        assert (attention - fair).square().sum() < local_pl_constant(fair) * D


@pytest.mark.equation("structural-inference", "50", "Lemma D.1")
def test_no_constant_is_true_for_a_sparse_oracle() -> None:
    oracle = tensor([1.0, 0.0], dtype=torch.float64)
    assert_close(local_pl_constant(oracle), tensor(2.0, dtype=torch.float64))
    ratios = []
    for mass in (1e-1, 1e-3, 1e-5):
        attention = tensor([1 - mass, mass], dtype=torch.float64)
        ratios.append(((attention - oracle).square().sum() / divergence(oracle, attention.log())).item())
    assert ratios == pytest.approx([2e-1, 2e-3, 2e-5], rel=0.1)


@pytest.mark.equation("structural-inference", "50", "Lemma D.1")
@some
@given(seed=seeds)
def test_the_local_constant_is_right_in_the_limit(seed: int) -> None:
    draw = Draw(seed)
    target = torch.softmax(draw.share(draw.positions), -1)
    direction = target * (draw.share(draw.positions) - 0.5)
    direction = direction - target * direction.sum(-1, keepdim=True)
    for size in (1e-2, 1e-3):
        attention = target + size * direction
        needed = (1 - size) * local_pl_constant(target) * divergence(target, attention.log())
        assert ((attention - target).square().sum(-1) >= needed - 1e-15).all()


@pytest.mark.equation("structural-inference", "50, exact")
def test_exact_constant_by_hand() -> None:
    # least target ¼, least ratio 0.3/0.5
    assert_close(pl_constant(tensor([0.3, 0.4, 0.3]), tensor([0.5, 0.25, 0.25])), tensor(0.3))


@pytest.mark.equation("structural-inference", "50, exact")
@some
@given(seed=seeds)
def test_exact_constant_is_true_everywhere(seed: int) -> None:
    draw = Draw(seed)
    attention, target = draw.attention(), draw.attention()
    needed = pl_constant(attention, target) * divergence(target, attention.log())
    assert (needed <= (attention - target).square().sum(-1) * (1 + 1e-9) + 1e-12).all()


@pytest.mark.equation("structural-inference", "52", "7", "53")
def test_envelope_and_delay_by_hand() -> None:
    assert_close(divergence_envelope(tensor(4.0), 0.5, 2.0), tensor(4 * math.exp(-1)))
    assert_close(delay_bound(tensor(4.0), tensor(1.0), 0.5), tensor(2 * math.log(4)))


@pytest.mark.equation("structural-inference", "52", "7", "53")
def test_towards_a_sparse_oracle_the_decay_is_no_exponential() -> None:
    """z = ℓ₁ − ℓ₂ obeys z + e^z = 1 + 2t from z = 0: D_t → 1/2t, while Eq. 52 allows (log 2) e^−2t."""
    logits, oracle = torch.zeros(2, dtype=torch.float64), tensor([1.0, 0.0], dtype=torch.float64)
    speed, one = local_pl_constant(oracle), tensor(1.0, dtype=torch.float64)
    initial = tensor(math.log(2), dtype=torch.float64)
    for time in (5.0, 50.0):
        log_attention, _ = follow(logits, oracle, one, time, steps=200)
        z = (log_attention[0] - log_attention[1]).item()
        assert z + math.exp(z) == pytest.approx(1 + 2 * time)
        D = divergence(oracle, log_attention)
        assert D > 100 * divergence_envelope(initial, speed, time)
        assert time > 3 * delay_bound(initial, D, speed)
    assert D.item() == pytest.approx(1 / 100, rel=0.06)


@pytest.mark.equation("structural-inference", "52", "7", "53")
@settings(max_examples=10)
@given(seed=seeds)
def test_towards_a_full_target_the_decay_is_exponential(seed: int) -> None:
    draw = Draw(seed)
    target, logits = torch.softmax(draw.share(draw.positions), -1), draw.share(draw.positions) * 2
    strength, time = torch.ones(len(target), dtype=torch.float64), 4.0
    initial = divergence(target, torch.log_softmax(logits, -1))
    start = (torch.softmax(logits, -1) / target).amin(-1)
    log_attention, least = follow(logits, target, strength, time)
    speed = 2 * target.amin(-1) * torch.minimum(start, least)  # the exact constant, at its least on the way
    final = divergence(target, log_attention)
    assert (final <= divergence_envelope(initial, speed, time) * (1 + 1e-6)).all()
    assert (delay_bound(initial, final.clamp_min(1e-300), speed) >= time * (1 - 1e-6)).all()


@pytest.mark.equation("structural-inference", "52, sparse")
def test_sparse_envelope_by_hand() -> None:
    # 1 / (1/2 + 1 · 2 · ¼ · 5)
    assert_close(sparse_divergence_envelope(tensor(2.0), 1.0, 2, tensor(0.5), 5.0), tensor(1 / 3))


@pytest.mark.equation("structural-inference", "52, sparse")
@settings(max_examples=10)
@given(seed=seeds)
def test_sparse_envelope_holds_along_the_flow(seed: int) -> None:
    draw = Draw(seed)
    target, logits = oracle_target(draw.informative(), torch.float64), draw.normal(draw.positions).clamp(-4, 4)
    strength, count = torch.ones(len(target), dtype=torch.float64), (target > 0).sum(-1)
    initial = divergence(target, torch.log_softmax(logits, -1))
    start = (torch.softmax(logits, -1) / target).where(target > 0, math.inf).amin(-1)
    for time in (1.0, 10.0):
        log_attention, least = follow(logits, target, strength, time)
        mass = torch.minimum(start, least) / count
        bound = sparse_divergence_envelope(initial.clamp_min(1e-300), strength, count, mass, time)
        assert (divergence(target, log_attention) <= bound * (1 + 1e-9) + 1e-12).all()
