"""Losses: by hand, beside torch, and their gradients by finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, vmap
from torch.testing import assert_close

from grokscope.optim import losses
from grokscope.optim.losses import cross_entropy, mse, stablemax

Draw = Callable[..., Tensor]

every_loss = pytest.mark.parametrize("name", sorted(losses.entries()))
LABELS = torch.tensor([0, 3, 2, 3])


def test_cross_entropy_is_that_of_torch(draw: Draw) -> None:
    logits = 5 * draw(4, 6)
    assert_close(cross_entropy(logits, LABELS), F.cross_entropy(logits, LABELS, reduction="none"))


def test_cross_entropy_keeps_its_digits_after_memorisation() -> None:
    """−log(1 / (1 + e⁻¹⁰)) beside logits of 100, where float32 has no digits left for log Σ exp minus the logit."""
    loss = cross_entropy(torch.tensor([[100.0, 90.0]]), torch.tensor([0]))
    assert_close(loss, torch.tensor([math.log1p(math.exp(-10))]), rtol=5e-3, atol=0)


def test_mse_by_hand() -> None:
    # ((1−1)² + 2² + (−1)²)/3 and (3² + (0−1)² + 1²)/3
    logits, labels = torch.tensor([[1.0, 2.0, -1.0], [3.0, 0.0, 1.0]]), torch.tensor([0, 1])
    assert_close(mse(logits, labels), torch.tensor([5 / 3, 11 / 3]))


def test_mse_is_that_of_torch_on_one_hot_targets(draw: Draw) -> None:
    logits = draw(4, 6)
    assert_close(mse(logits, LABELS).mean(), F.mse_loss(logits, F.one_hot(LABELS, 6).to(logits.dtype)))


def test_stablemax_by_hand() -> None:
    # s(1) = 2, s(0) = 1, s(−1) = 1/2, s(−3) = 1/4; their sum is 15/4.
    logits = torch.tensor([[1.0, 0.0, -1.0, -3.0]]).expand(4, -1)
    by_hand = [math.log(15 / 4 / s) for s in (2, 1, 1 / 2, 1 / 4)]
    assert_close(stablemax(logits, torch.arange(4)), torch.tensor(by_hand))


@settings(deadline=None)
@given(x=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6), label=st.integers(0, 1))
def test_stablemax_is_the_plain_formula(x: list[float], label: int) -> None:
    s = [v + 1 if v >= 0 else 1 / (1 - v) for v in x]
    loss = stablemax(torch.tensor([x], dtype=torch.float64), torch.tensor([label]))
    assert_close(loss.item(), -math.log(s[label] / sum(s)), rtol=1e-9, atol=1e-12)


def test_stablemax_keeps_its_digits_in_float32() -> None:
    loss = stablemax(torch.tensor([[1e9, 0.0]]), torch.tensor([0]))
    assert_close(loss, torch.tensor([1e-9]), rtol=1e-5, atol=0)


@pytest.mark.parametrize("at", [0.0, 1.0, 30.0, -30.0])
def test_stablemax_has_a_finite_gradient_everywhere(at: float) -> None:
    """s′ is 1 at 0 from both sides, and the pole of 1/(1 − x) at 1 belongs to the branch that is not taken."""
    slope = grad(lambda x: stablemax(x, torch.tensor([0])).sum())(torch.tensor([[at, 0.0]]))[0, 0]
    s, slope_of_s = (at + 1, 1.0) if at >= 0 else (1 / (1 - at), 1 / (1 - at) ** 2)
    assert_close(slope.item(), slope_of_s * (1 / (s + 1) - 1 / s), rtol=1e-5, atol=1e-7)


@every_loss
def test_gradients_of_first_and_second_order(draw: Draw, name: str) -> None:
    logits = (2 * draw(4, 5)).requires_grad_()
    assert gradcheck(lambda x: losses.get(name)(x, LABELS), logits)
    assert gradgradcheck(lambda x: losses.get(name)(x, LABELS), logits)


@every_loss
def test_one_loss_for_each_example_also_at_every_position_and_in_lanes(draw: Draw, name: str) -> None:
    loss, logits, labels = losses.get(name), draw(3, 4, 5), torch.arange(12).view(3, 4) % 5
    apart = torch.stack([loss(x, y) for x, y in zip(logits, labels, strict=True)])
    assert apart.shape == (3, 4)
    assert_close(loss(logits, labels), apart)
    assert_close(vmap(loss)(logits, labels), apart)


@every_loss
def test_the_order_of_classes_does_not_matter(draw: Draw, name: str) -> None:
    loss, logits, order = losses.get(name), draw(4, 6), torch.tensor([5, 2, 0, 1, 4, 3])
    assert_close(loss(logits[:, order], order.argsort()[LABELS]), loss(logits, LABELS))


@every_loss
def test_the_loss_falls_as_the_logit_of_the_label_rises_to_its_target(draw: Draw, name: str) -> None:
    logits = draw(6).expand(7, -1).clone()
    logits[:, 2] = torch.linspace(-4, 1, 7, dtype=torch.float64)
    assert (losses.get(name)(logits, torch.full((7,), 2)).diff() < 0).all()
