"""λ, ρ̄ and the largest step of each optimizer, on steps made by hand and at random."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.optim.adamw import AdamW
from grokscope.optim.lion import Lion
from grokscope.optim.muon import newton_schulz
from grokscope.papers.structural_inference.equations import (
    adamw_step_bound,
    adamw_step_bound_exact,
    contraction_bound,
    contraction_radius,
    decoupled_growth,
    effective_decay,
    lion_step_bound,
    muon_step_bound,
    sgd_growth,
)
from grokscope.randomness import Key


@pytest.mark.equation("structural-inference", "App. B, λ", "22", "Prop. B.1", "Prop. B.2", "1", "Def. 3.2")
def test_one_step_by_hand() -> None:
    lr, weight_decay = 0.1, 2.0
    decay = effective_decay(lr, weight_decay)
    assert decay == pytest.approx(0.2)
    assert sgd_growth(lr, weight_decay, 3.0) == pytest.approx(0.45)
    assert decoupled_growth(lr, weight_decay, 3.0) == pytest.approx(0.45)
    # W = 10, U = −3: W⁺ = 0.8 · 10 + 0.1 · 3 = 8.3, and 68.89 ≤ 0.8 · 100 + 0.45
    assert_close(contraction_bound(tensor(100.0), decay, 0.45), tensor(80.45))
    assert (0.8 * 10 + 0.3) ** 2 < 80.45


@pytest.mark.equation("structural-inference", "App. B, λ", "22", "Prop. B.1", "Prop. B.2", "1", "Def. 3.2")
@some
@given(seed=seeds)
def test_every_step_with_decay_contracts(seed: int) -> None:
    draw = Draw(seed)
    weight, step, lr = draw.normal(3, 2), draw.normal(3, 2), draw.positive()
    weight_decay = (draw.share() * 0.999 + 1e-3) / lr  # so that λ ≤ 1
    decay = effective_decay(lr, weight_decay)
    after = (1 - decay)[:, None, None] * weight - lr[:, None, None] * step
    size = step.norm(dim=(-2, -1))
    growth = decoupled_growth(lr, weight_decay, size)
    assert_close(sgd_growth(lr, weight_decay, size), growth)
    bound = contraction_bound(weight.square().sum((-2, -1)), decay, growth)
    assert (after.square().sum((-2, -1)) <= bound * (1 + 1e-9)).all()


@pytest.mark.equation("structural-inference", "App. B, radius")
def test_radius_by_hand_and_at_the_default_of_the_paper() -> None:
    assert contraction_radius(6.0, 2.0) == 3.0
    m, n = 64, 256  # W_in, entries of size 1/√64: norm √256 = 16
    radius = contraction_radius(adamw_step_bound_exact(m * n, 0.9, 0.999), 1.0)
    assert radius > 50 * math.sqrt(n)


@pytest.mark.equation("structural-inference", "App. B, radius")
@some
@given(seed=seeds)
def test_the_bound_shrinks_a_norm_exactly_beyond_the_radius(seed: int) -> None:
    draw = Draw(seed)
    norm, size, weight_decay = draw.positive(), draw.positive(), draw.positive()
    lr = draw.share() * 0.999 / weight_decay + 1e-6 / weight_decay
    bound = contraction_bound(norm**2, effective_decay(lr, weight_decay), decoupled_growth(lr, weight_decay, size))
    beyond = norm > contraction_radius(size, weight_decay)
    assert torch.equal(bound < norm**2, beyond)


def adam_step(gradients: list[float], beta1: float, beta2: float) -> float:
    """The step of grokscope's AdamW at the end of a series of gradients, in units of η."""
    optim = AdamW(lr=1.0, weight_decay=0.0, beta1=beta1, beta2=beta2, eps=1e-300)
    weight, state = torch.zeros(1, dtype=torch.float64), optim.init(torch.zeros(1, dtype=torch.float64), "matrix")
    for step, gradient in enumerate(gradients, 1):
        before = weight
        weight, state = optim.update(
            weight,
            tensor([gradient], dtype=torch.float64),
            state,
            role="matrix",
            step=tensor(step),
            lr=tensor(1.0, dtype=torch.float64),
            key=Key(tensor(0), tensor(step)),
        )
    return abs((weight - before).item())


@pytest.mark.equation("structural-inference", "Prop. B.2, AdamW", "Prop. B.2, AdamW, exact")
def test_the_bound_on_adamw_is_broken_by_its_first_step_and_by_growing_gradients() -> None:
    assert adamw_step_bound(1.0, 0.9, 0.98) == pytest.approx(0.1 / math.sqrt(0.02))
    assert adamw_step_bound(4.0, 0.9, 0.999) == pytest.approx(2 * 0.1 / math.sqrt(0.001))
    exact = adamw_step_bound_exact(1.0, 0.9, 0.98).item()
    assert exact == pytest.approx(0.1 / math.sqrt(0.02 * (1 - 0.81 / 0.98)))
    assert adam_step([5.0], 0.9, 0.98) == pytest.approx(1.0)  # the sign of g, though the bound is 0.71
    growing = [(0.98 / 0.9) ** i for i in range(300)]
    assert 0.99 * exact < adam_step(growing, 0.9, 0.98) <= exact * (1 + 1e-9)
    assert adam_step(growing, 0.9, 0.98) > 2 * adamw_step_bound(1.0, 0.9, 0.98)
    assert adamw_step_bound_exact(1.0, 0.9, 0.8).isinf()  # β₁² ≥ β₂: no bound


@pytest.mark.equation("structural-inference", "Prop. B.2, AdamW", "Prop. B.2, AdamW, exact")
@some
@given(seed=seeds)
def test_no_series_of_gradients_breaks_the_exact_bound(seed: int) -> None:
    draw = Draw(seed)
    beta2 = 0.5 + 0.499 * draw.share()[0].item()
    beta1 = beta2**0.5 * 0.999 * draw.share()[0].item()
    gradients = (draw.normal(2)[:, 0] * (3 * draw.share()).exp()).tolist()
    exact = adamw_step_bound_exact(1.0, beta1, beta2)
    assert adam_step(gradients, beta1, beta2) <= exact * (1 + 1e-9)
    assert adamw_step_bound(1.0, beta1, beta2) <= exact


@pytest.mark.equation("structural-inference", "Prop. B.2, Muon", "Prop. B.2, Lion")
def test_steps_of_muon_and_lion_by_hand() -> None:
    assert muon_step_bound(4.0, excess=0.0) == 2.0
    assert muon_step_bound(4.0, scale=3.0, excess=0.5) == 9.0
    assert lion_step_bound(9.0) == 3.0


@pytest.mark.equation("structural-inference", "Prop. B.2, Muon")
@some
@given(seed=seeds)
def test_orthogonalised_steps_stay_below_the_bound(seed: int) -> None:
    draw = Draw(seed)
    rows, columns = draw.whole(1, 8), draw.whole(1, 8)
    step = newton_schulz(draw.normal(rows, columns))
    assert (step.norm(dim=(-2, -1)) <= muon_step_bound(min(rows, columns))).all()


def test_newton_schulz_overshoots_by_a_fifth() -> None:
    """Two singular values, one scanned: the largest that comes out is the default ε of the bound."""
    angle = torch.linspace(0, math.pi / 2, 20001, dtype=torch.float64)
    largest = newton_schulz(torch.diag_embed(torch.stack([angle.cos(), angle.sin()], -1))).amax()
    assert 1.2023 < largest <= 1.2024


@pytest.mark.equation("structural-inference", "Prop. B.2, Lion")
@some
@given(seed=seeds)
def test_steps_of_lion_have_one_size(seed: int) -> None:
    draw = Draw(seed)
    optim, weight, gradient = Lion(lr=1.0, weight_decay=0.0), draw.normal(4, 3), draw.normal(4, 3)
    state, lr = optim.init(weight, "matrix"), tensor(1.0, dtype=torch.float64)
    after, _ = optim.update(
        weight, gradient, state, role="matrix", step=tensor(1), lr=lr, key=Key(tensor(0), tensor(1))
    )
    assert_close((after - weight).norm(dim=(-2, -1)), torch.full((len(weight),), lion_step_bound(12.0)).double())
