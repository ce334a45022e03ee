"""The conjectures: logit variance and several heads."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import (
    attention_logits,
    logit_variance_bound,
    pooled,
    pooled_condition,
    pooled_heads,
)
from grokscope.theory import least_mass, logit_variance


@pytest.mark.equation("structural-inference", "Conj. E.1, variance", "Conj. E.1")
def test_variance_and_its_bound_by_hand() -> None:
    assert_close(logit_variance(tensor([1.0, 3.0])), tensor(1.0))
    # ‖M‖² = 25, ‖e_q‖ = 2, max‖e‖ = 3, d = 2
    assert_close(logit_variance_bound(tensor([[3.0, 0.0], [0.0, 4.0]]), tensor(2.0), tensor(3.0)), tensor(450.0))


@pytest.mark.equation("structural-inference", "Conj. E.1, variance", "Conj. E.1")
@some
@given(seed=seeds)
def test_variance_is_bounded_and_blind_to_shifts(seed: int) -> None:
    draw = Draw(seed)
    d = draw.width
    query, keys, interaction = draw.normal(d), draw.normal(draw.positions, d), draw.normal(d, d)
    logits = attention_logits(query, keys, interaction)
    bound = logit_variance_bound(interaction, query.norm(dim=-1), keys.norm(dim=-1).amax(-1))
    assert (logit_variance(logits) <= bound * (1 + 1e-9)).all()
    assert_close(logit_variance(logits + 3), logit_variance(logits), rtol=1e-6, atol=1e-9)


@pytest.mark.equation("structural-inference", "54")
def test_pooling_of_heads_by_hand() -> None:
    attention, values = tensor([[1.0, 0.0], [0.5, 0.5]]), tensor([[[2.0], [9.0]], [[4.0], [6.0]]])
    W_O = tensor([[[1.0, 0.0]], [[0.0, 10.0]]])
    assert_close(pooled_heads(attention, values, W_O), tensor([2.0, 50.0]))


@pytest.mark.equation("structural-inference", "54")
@some
@given(seed=seeds)
def test_heads_add_up(seed: int) -> None:
    draw = Draw(seed)
    heads, width, d = draw.whole(1, 4), draw.width, draw.whole(1, 6)
    attention, values = draw.attention(heads, draw.positions), draw.normal(heads, draw.positions, width)
    W_O = draw.normal(heads, width, d)
    each = [(pooled(attention[:, r], values[:, r])[:, None] @ W_O[:, r])[:, 0] for r in range(heads)]
    assert_close(pooled_heads(attention, values, W_O), torch.stack(each).sum(0), rtol=1e-9, atol=1e-9)


@pytest.mark.equation("structural-inference", "55", "Conj. E.2")
def test_heads_meet_the_condition_together() -> None:
    attention = tensor([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05]])  # each head looks at one operand
    informative = tensor([True, True, False])
    met = pooled_condition(attention, informative, tensor(0.9))
    assert met.holds
    assert_close(met.margin, tensor(0.05))
    assert (least_mass(attention, informative.expand(2, 3)) < 0.9).all()


@pytest.mark.equation("structural-inference", "55", "Conj. E.2")
@some
@given(seed=seeds)
def test_one_head_is_the_plain_condition_and_more_only_help(seed: int) -> None:
    draw = Draw(seed)
    attention, informative = draw.attention(3, draw.positions), draw.informative()
    gamma = draw.share() + 1e-3
    alone = pooled_condition(attention[:, :1], informative, gamma).margin
    assert_close(alone, least_mass(attention[:, 0], informative) - gamma)
    assert (pooled_condition(attention, informative, gamma).margin >= alone - 1e-12).all()
