"""The structural and the norm condition, the threshold and what it implies."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import (
    necessary_divergence,
    norm_condition,
    output_separation,
    pair_condition,
    pooled,
    sampled_lipschitz,
    separation_bound,
    structural_condition,
    threshold,
)
from grokscope.theory import divergence, least_mass, oracle_target, two_layer_lipschitz


@pytest.mark.equation("structural-inference", "Def. 4.1")
def test_structural_condition_by_hand() -> None:
    attention = tensor([[0.5, 0.2, 0.3], [0.4, 0.5, 0.1]])
    informative = tensor([[True, False, True], [True, True, False]])  # may differ between inputs
    for gamma, holds in ((0.25, True), (0.3, True), (0.35, False)):
        met = structural_condition(attention, informative, tensor(gamma))
        assert met.holds.item() is holds
        assert_close(met.margin, tensor(0.3 - gamma))


@pytest.mark.equation("structural-inference", "Def. 4.1")
@some
@given(seed=seeds)
def test_structural_condition_is_that_of_its_worst_input(seed: int) -> None:
    draw = Draw(seed)
    attention, informative, gamma = draw.attention(), draw.informative(), draw.share()[0] + 1e-3
    each = [structural_condition(a[None], i[None], gamma).holds for a, i in zip(attention, informative, strict=True)]
    assert structural_condition(attention, informative, gamma).holds == torch.stack(each).all()


@pytest.mark.equation("structural-inference", "Def. 4.2")
def test_norm_condition_by_hand() -> None:
    met = norm_condition(tensor([1.0, 2.0, 5.0, 7.0]), tensor(2.0), tensor(6.0))
    assert met.holds.tolist() == [False, True, True, False]
    assert_close(met.margin, tensor([-1.0, 0.0, 1.0, -1.0]))


@pytest.mark.equation("structural-inference", "Def. 4.2")
@some
@given(seed=seeds)
def test_norm_condition_is_two_inequalities(seed: int) -> None:
    draw = Draw(seed)
    norm, least, most = draw.positive(), draw.positive(), draw.positive()
    assert torch.equal(norm_condition(norm, least, most).holds, (least <= norm) & (norm <= most))


@pytest.mark.equation("structural-inference", "25")
def test_output_separation_by_hand() -> None:
    assert_close(output_separation(tensor([1.0, 2.0, 3.0]), tensor([1.0, 5.0, -1.0])), tensor(5.0))


@pytest.mark.equation("structural-inference", "25")
@some
@given(seed=seeds)
def test_outputs_that_classify_differently_are_apart_by_their_margins(seed: int) -> None:
    """If the one wins by m and the other by m', the outputs are at least (m + m')/√2 apart."""
    draw = Draw(seed)
    logits, other = draw.normal(4), draw.normal(4)
    (first, label), (second, other_label) = logits.max(-1), other.max(-1)
    margin = first - logits.gather(-1, other_label[:, None])[:, 0]
    other_margin = second - other.gather(-1, label[:, None])[:, 0]
    assert (output_separation(logits, other) >= (margin + other_margin) / math.sqrt(2) - 1e-9).all()


@pytest.mark.equation("structural-inference", "Thm 4.3")
def test_threshold_by_hand() -> None:
    assert_close(threshold(tensor(6.0), tensor(10.0), tensor(3.0)), tensor(0.2))


@pytest.mark.equation("structural-inference", "Thm 4.3", "26", "27")
def test_zero_test_error_does_not_imply_the_structural_condition() -> None:
    """Linear attention: at the operand's position the one token scores 0 and the other 3, the second position scores 1."""
    attention, other_attention = tensor([0.0, 1.0]), tensor([0.75, 0.25])
    value, other_value, center = tensor([0.5, 0.0]), tensor([1.0, 0.0]), tensor([0.0, 0.0])
    h = pooled(attention, torch.stack([value, center]))
    other_h = pooled(other_attention, torch.stack([other_value, center]))
    read_out = tensor([[1.0, -1.0], [0.0, 0.0]])  # classes 1 and 0 meet at 0.375, between the two
    c = output_separation(h @ read_out, other_h @ read_out)
    lipschitz, spread = torch.linalg.matrix_norm(read_out, 2), tensor(1.0)
    assert_close(c, separation_bound(attention[0], other_attention[0], lipschitz, spread))
    gamma = threshold(c, lipschitz, spread)
    assert_close(gamma, tensor(0.75))
    assert_close(pair_condition(attention[0], other_attention[0], gamma).margin, tensor(0.0))
    informative = tensor([[True, False]]).expand(2, 2)
    assert not structural_condition(torch.stack([attention, other_attention]), informative, gamma).holds


@pytest.mark.equation("structural-inference", "26", "27", "Thm 4.3")
@some
@given(seed=seeds)
def test_what_a_bounded_network_tells_apart_has_attention(seed: int) -> None:
    draw = Draw(seed)
    mass, other_mass, width, hidden = draw.share(), draw.share(), draw.width, draw.whole(1, 8)
    value, other_value, center = draw.normal(width), draw.normal(width), draw.normal(width)
    W_in, W_out = draw.normal(width, hidden), draw.normal(hidden, 3)
    h = center + mass[:, None] * (value - center)
    other_h = center + other_mass[:, None] * (other_value - center)
    logits, other_logits = ((torch.relu(x[:, None] @ W_in) @ W_out)[:, 0] for x in (h, other_h))
    c, lipschitz = output_separation(logits, other_logits), two_layer_lipschitz(W_in, W_out)
    spread = torch.maximum((value - center).norm(dim=-1), (other_value - center).norm(dim=-1))
    assert (c <= separation_bound(mass, other_mass, lipschitz, spread) * (1 + 1e-9)).all()
    told_apart = c > 0
    gamma = threshold(c.where(told_apart, 1e-30), lipschitz, spread)
    assert (pair_condition(mass, other_mass, gamma).margin >= -1e-9).all()


@pytest.mark.equation("structural-inference", "27")
def test_pair_condition_by_hand() -> None:
    met = pair_condition(tensor([0.1, 0.0]), tensor([0.3, 0.3]), tensor(0.35))
    assert met.holds.tolist() == [True, False]
    assert_close(met.margin, tensor([0.05, -0.05]))


@pytest.mark.equation("structural-inference", "3", "Cor. 4.5")
def test_necessary_divergence_by_hand() -> None:
    informative = tensor([True, True, False, False])
    assert_close(necessary_divergence(informative, tensor(0.25)), tensor(math.log(2)))
    assert_close(necessary_divergence(informative, tensor(0.5)), tensor(0.0))


@pytest.mark.equation("structural-inference", "3", "Cor. 4.5")
@some
@given(seed=seeds)
def test_enough_mass_bounds_the_divergence(seed: int) -> None:
    draw = Draw(seed)
    attention, informative = draw.attention(), draw.informative()
    gamma = least_mass(attention, informative)
    D = divergence(oracle_target(informative, torch.float64), attention.log())
    assert (D <= necessary_divergence(informative, gamma) + 1e-9).all()


def test_a_small_divergence_does_not_imply_enough_mass() -> None:
    informative, attention = tensor([True, True]), tensor([0.9, 0.1])
    D = divergence(oracle_target(informative), attention.log())
    assert D < necessary_divergence(informative, tensor(0.2)) and least_mass(attention, informative) < 0.2


@pytest.mark.equation("structural-inference", "23, sampled")
def test_sampled_constant_by_hand() -> None:
    pair = tensor([0.0, 0.0]), tensor([3.0, 4.0])
    assert_close(sampled_lipschitz(*pair, tensor([1.0]), tensor([11.0])), tensor(2.0))


@pytest.mark.equation("structural-inference", "23, sampled")
@some
@given(seed=seeds)
def test_a_sampled_constant_stays_below_the_bound(seed: int) -> None:
    draw = Draw(seed)
    d, hidden = draw.width, draw.whole(1, 8)
    h, other, W_in, W_out = draw.normal(d), draw.normal(d), draw.normal(d, hidden), draw.normal(hidden, 3)
    outputs = [(torch.relu(x[:, None] @ W_in) @ W_out)[:, 0] for x in (h, other)]
    sampled = sampled_lipschitz(h, other, *outputs)
    assert (sampled <= two_layer_lipschitz(W_in, W_out) * (1 + 1e-9)).all()
    assert_close(sampled_lipschitz(3 * h, 3 * other, *outputs), sampled / 3)
