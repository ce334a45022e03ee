"""Targets, divergence, pooling and logits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch.testing import assert_close

from grokscope.theory import (
    adversarial_target,
    attention_entropy,
    attention_logits,
    divergence,
    informative_mask,
    oracle_target,
    pooled,
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


@pytest.mark.equation("structural-inference", "9")
def test_pooling_by_hand() -> None:
    values = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    assert_close(pooled(torch.tensor([0.25, 0.75]), values), torch.tensor([1.0, 6.0]))


@pytest.mark.equation("structural-inference", "9")
@some
@given(seed=seeds)
def test_the_pooled_value_stays_among_the_values(seed: int) -> None:
    draw = Draw(seed)
    values, h = (values := draw.values()), pooled(draw.attention(), values)
    assert (h <= values.amax(-2) + 1e-9).all() and (h >= values.amin(-2) - 1e-9).all()


@pytest.mark.equation("structural-inference", "38")
def test_logits_by_hand() -> None:
    # M turns the query (1, 2) into (2, 1, …): eᵀM e_j / √2 with keys (1, 0) and (0, 4)
    interaction = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    keys = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    assert_close(attention_logits(torch.tensor([1.0, 2.0]), keys, interaction), torch.tensor([2.0, 4.0]) / math.sqrt(2))


@pytest.mark.equation("structural-inference", "38")
@some
@given(seed=seeds)
def test_logits_are_scaled_products_of_queries_and_keys(seed: int) -> None:
    draw = Draw(seed)
    d = draw.width
    query, keys, W_Q, W_K = draw.normal(d), draw.normal(draw.positions, d), draw.normal(d, d), draw.normal(d, d)
    q, k = torch.einsum("nij,nj->ni", W_Q, query), torch.einsum("nij,npj->npi", W_K, keys)
    by_definition = torch.einsum("ni,npi->np", q, k) / math.sqrt(d)
    assert_close(attention_logits(query, keys, W_Q.mT @ W_K), by_definition, rtol=1e-9, atol=1e-9)


def test_a_set_of_positions_as_a_mask() -> None:
    assert informative_mask(torch.tensor([[0, 2], [1, 1]]), 3).tolist() == [[True, False, True], [False, True, False]]


@pytest.mark.parametrize("outside", [-1, 5])
def test_a_position_outside_the_sequence(outside: int) -> None:
    with pytest.raises(ValueError, match=f"^positions: {outside} is outside a sequence of 5 positions$"):
        informative_mask(torch.tensor([0, outside]), 5)
