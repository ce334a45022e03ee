"""Targets, divergence, least mass, the mean of heads, gradients and variance of logits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.theory import (
    adversarial_target,
    attention_entropy,
    divergence,
    informative_mask,
    kl_logit_gradient,
    least_mass,
    log_mean_attention,
    logit_variance,
    oracle_target,
    uniform_target,
)


@pytest.mark.equation("structural-inference", "§4.1")
def test_the_oracle_of_two_in_five() -> None:
    mask = torch.tensor([True, False, True, False, False])
    assert_close(oracle_target(mask), torch.tensor([0.5, 0.0, 0.5, 0.0, 0.0]))


@pytest.mark.equation("structural-inference", "§4.1")
@some
@given(seed=seeds)
def test_the_oracle_is_uniform_on_its_support(seed: int) -> None:
    mask = Draw(seed).informative()
    target = oracle_target(mask, torch.float64)
    assert_close(target.sum(-1), torch.ones(len(mask), dtype=torch.float64))
    assert torch.equal(target > 0, mask)
    assert_close(target.amax(-1) * mask.sum(-1), torch.ones(len(mask), dtype=torch.float64))


@pytest.mark.equation("structural-inference", "§6, adversarial")
def test_the_adversary_leaves_out_the_operands_and_the_query() -> None:
    mask = torch.tensor([[True, False, True, False, False], [False, False, False, True, False]])
    by_hand = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0, 0.0]])
    assert_close(adversarial_target(mask), by_hand)


@pytest.mark.equation("structural-inference", "§6, adversarial")
@some
@given(seed=seeds)
def test_the_adversary_never_meets_the_oracle(seed: int) -> None:
    draw = Draw(seed)
    draw.positions += 1  # an operand, a distractor and the query
    mask = draw.informative(spare=True)
    target = adversarial_target(mask, torch.float64)
    assert_close(target.sum(-1), torch.ones(len(mask), dtype=torch.float64))
    assert not (target * oracle_target(mask)).any()
    assert not target[:, -1].any()


def test_the_uniform_target_knows_nothing() -> None:
    assert_close(uniform_target(torch.tensor([True, False, False, False])), torch.full((4,), 0.25))


@pytest.mark.equation("structural-inference", "3, left side")
def test_divergence_of_a_known_pair() -> None:
    # ½ log(½ / ¼) + ½ log(½ / ½) = ½ log 2; the third position has no target and does not count
    target, attention = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.5, 0.25])
    assert_close(divergence(target, attention.log()), torch.tensor(0.5 * math.log(2)))


@pytest.mark.equation("structural-inference", "3, left side")
@some
@given(seed=seeds)
def test_divergence_is_that_of_torch_and_vanishes_at_the_target(seed: int) -> None:
    draw = Draw(seed)
    target, log_attention = draw.attention(), draw.attention().log()
    theirs = torch.nn.functional.kl_div(log_attention, target, reduction="none").sum(-1)
    assert_close(divergence(target, log_attention), theirs)
    assert (divergence(target, log_attention) >= 0).all()
    assert_close(divergence(target, target.log()), torch.zeros(len(target), dtype=torch.float64), rtol=0, atol=1e-12)


def test_entropy_of_a_fair_coin() -> None:
    assert_close(attention_entropy(torch.tensor([0.5, 0.5]).log()), torch.tensor(math.log(2)))


def test_a_set_of_positions_as_a_mask() -> None:
    assert informative_mask(torch.tensor([[0, 2], [1, 1]]), 3).tolist() == [[True, False, True], [False, True, False]]


@pytest.mark.parametrize("outside", [-1, 5])
def test_a_position_outside_the_sequence(outside: int) -> None:
    with pytest.raises(ValueError, match=f"^positions: {outside} is outside a sequence of 5 positions$"):
        informative_mask(torch.tensor([0, outside]), 5)


@pytest.mark.equation("structural-inference", "2")
def test_least_mass_by_hand() -> None:
    attention = tensor([[0.5, 0.1, 0.4], [0.2, 0.7, 0.1]])
    assert_close(least_mass(attention, tensor([[True, False, True], [True, True, True]])), tensor([0.4, 0.1]))


@pytest.mark.equation("structural-inference", "2")
@some
@given(seed=seeds)
def test_least_mass_is_at_most_the_fair_share(seed: int) -> None:
    draw = Draw(seed)
    attention, informative = draw.attention(), draw.informative()
    mass = least_mass(attention, informative)
    assert (mass <= 1 / informative.sum(-1) + 1e-12).all()
    assert ((attention >= mass[:, None]) | ~informative).all()


@pytest.mark.equation("structural-inference", "45")
def test_kl_gradient_by_hand() -> None:
    assert_close(kl_logit_gradient(tensor([0.7, 0.2, 0.1]), tensor([0.5, 0.5, 0.0])), tensor([0.2, -0.3, 0.1]))


@pytest.mark.equation("structural-inference", "45")
@some
@given(seed=seeds)
def test_kl_gradient_is_that_of_autograd(seed: int) -> None:
    draw = Draw(seed)
    logits = draw.normal(draw.positions).requires_grad_()
    for target in (draw.attention(), oracle_target(draw.informative(), torch.float64)):
        D = divergence(target, torch.log_softmax(logits, -1))
        (theirs,) = torch.autograd.grad(D.sum(), logits)
        assert_close(kl_logit_gradient(torch.softmax(logits, -1).detach(), target), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.equation("structural-inference", "Conj. E.1, variance")
def test_variance_of_logits_by_hand() -> None:
    assert_close(logit_variance(tensor([[1.0, 3.0], [2.0, 2.0]])), tensor([1.0, 0.0]))


@pytest.mark.equation("structural-inference", "Conj. E.1, variance")
@some
@given(seed=seeds)
def test_variance_of_logits_is_that_of_torch(seed: int) -> None:
    logits = Draw(seed).normal(5)
    assert_close(logit_variance(logits), logits.var(-1, correction=0))


@pytest.mark.equation("structural-inference", "55, mean")
def test_two_heads_together_by_hand() -> None:
    heads = tensor([[0.9, 0.1], [0.3, 0.7]])
    assert_close(log_mean_attention(heads.log()).exp(), tensor([0.6, 0.4]))


@pytest.mark.equation("structural-inference", "55, mean")
@some
@given(seed=seeds)
def test_heads_together_are_the_mean_of_heads(seed: int) -> None:
    draw = Draw(seed)
    attention = draw.attention(draw.whole(1, 4), draw.positions)
    together = log_mean_attention(attention.log())
    assert_close(together.exp(), attention.mean(-2))
    assert torch.equal(log_mean_attention(attention[:, :1].log()), attention[:, 0].log())
