"""Two inputs that differ at one position: identities to rounding, bounds never broken."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from theory_cases import CASES, Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import (
    centroid,
    centroid_gap,
    difference_bound,
    difference_bound_tight,
    pooled,
    pooled_difference,
    pooled_difference_rearranged,
    rescaling,
    value_separation,
)


class Pair(NamedTuple):
    attention: Tensor
    other_attention: Tensor
    values: Tensor
    other_values: Tensor
    position: Tensor

    def at(self, tensor: Tensor) -> Tensor:
        return tensor[torch.arange(CASES), self.position]


def pair(seed: int, *, linear: bool = False) -> Pair:
    """Two inputs that differ at one position; scores are local, e^ℓ or relu(ℓ) plus a little."""
    draw = Draw(seed)
    logits, values, position = draw.normal(draw.positions), draw.values(), draw.position()
    here = torch.nn.functional.one_hot(position, draw.positions).bool()
    other_logits = torch.where(here, draw.normal(draw.positions), logits)
    other_values = torch.where(here[..., None], draw.values(), values)
    attention, other = (
        (torch.relu(x) + 1e-3) / (torch.relu(x) + 1e-3).sum(-1, keepdim=True) if linear else torch.softmax(x, -1)
        for x in (logits, other_logits)
    )
    return Pair(attention, other, values, other_values, position)


close = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.equation("structural-inference", "11")
def test_value_separation_by_hand() -> None:
    assert_close(value_separation(tensor([1.0, 2.0]), tensor([4.0, 6.0])), tensor(5.0))


@pytest.mark.equation("structural-inference", "11")
@some
@given(seed=seeds)
def test_value_separation_obeys_the_triangle_inequality(seed: int) -> None:
    draw = Draw(seed)
    a, b, c = draw.normal(3), draw.normal(3), draw.normal(3)
    assert (value_separation(a, c) <= value_separation(a, b) + value_separation(b, c) + 1e-9).all()
    assert_close(value_separation(a, b), value_separation(b, a))


@pytest.mark.equation("structural-inference", "12")
def test_rescaling_by_hand() -> None:
    # (½, ¼, ¼) → (¾, ⅛, ⅛): the others halve
    assert_close(rescaling(tensor(0.5), tensor(0.75)), tensor(0.5))


@pytest.mark.equation("structural-inference", "12")
@some
@given(seed=seeds)
def test_every_other_weight_rescales_alike(seed: int) -> None:
    for linear in (False, True):
        p = pair(seed, linear=linear)
        mass, other_mass = p.at(p.attention), p.at(p.other_attention)
        others = p.attention.scatter(-1, p.position[:, None], 0)
        scaled = others * rescaling(mass.clamp_max(1 - 1e-15), other_mass)[:, None]
        # 1 − α_j has lost its digits where α_j is nearly one
        assert_close(scaled, p.other_attention.scatter(-1, p.position[:, None], 0), rtol=1e-3, atol=1e-9)


@pytest.mark.equation("structural-inference", "13")
def test_centroid_by_hand() -> None:
    # without position 1: (¼ · 2 + ½ · 8) / ¾ = 6
    attention, values = tensor([0.25, 0.25, 0.5]), tensor([[2.0], [100.0], [8.0]])
    assert_close(centroid(attention, values, tensor(1)), tensor([6.0]))


@pytest.mark.equation("structural-inference", "13")
@some
@given(seed=seeds)
def test_both_inputs_share_their_centroid(seed: int) -> None:
    for linear in (False, True):
        p = pair(seed, linear=linear)
        one = centroid(p.attention, p.values, p.position)
        assert_close(one, centroid(p.other_attention, p.other_values, p.position), **close)


@pytest.mark.equation("structural-inference", "§3.2")
def test_centroid_gap_by_hand() -> None:
    # from position 1 to the centroid 6 of the others; from 0 to (25 + 4)/¾; from 2 to (½ + 25)/½
    attention, values = tensor([0.25, 0.25, 0.5]), tensor([[2.0], [100.0], [8.0]])
    assert_close(centroid_gap(attention, values), tensor([29 / 0.75 - 2, 94.0, 51.0 - 8.0]))


@pytest.mark.equation("structural-inference", "§3.2")
@some
@given(seed=seeds)
def test_centroid_gap_is_the_distance_from_the_centroid(seed: int) -> None:
    draw = Draw(seed)
    attention, values, position = torch.softmax(draw.share(draw.positions), -1), draw.values(), draw.position()
    here = torch.arange(CASES), position
    by_definition = (values[here] - centroid(attention, values, position)).norm(dim=-1)
    assert_close(centroid_gap(attention, values)[here], by_definition, **close)
    diameter = (values[:, :, None] - values[:, None]).norm(dim=-1).amax((-2, -1))
    assert (centroid_gap(attention, values) <= diameter[:, None] * (1 + 1e-9)).all()


@pytest.mark.equation("structural-inference", "14", "17")
def test_pooled_difference_by_hand() -> None:
    # (½, ½) on 4 and 2 gives 3; (¾, ¼) on 8 and 2 gives 6.5
    given_values = (tensor(0.5), tensor(0.75), tensor([4.0]), tensor([8.0]), tensor([2.0]))
    assert_close(pooled_difference(*given_values), tensor([-3.5]))
    assert_close(pooled_difference_rearranged(*given_values), tensor([-3.5]))


@pytest.mark.equation("structural-inference", "14", "17")
@some
@given(seed=seeds)
def test_pooled_difference_is_exact(seed: int) -> None:
    for linear in (False, True):
        p = pair(seed, linear=linear)
        difference = pooled(p.attention, p.values) - pooled(p.other_attention, p.other_values)
        center = centroid(p.attention, p.values, p.position)
        parts = (p.at(p.attention), p.at(p.other_attention), p.at(p.values), p.at(p.other_values), center)
        assert_close(pooled_difference(*parts), difference, **close)
        assert_close(pooled_difference_rearranged(*parts), difference, **close)


@pytest.mark.equation("structural-inference", "16, tight", "16", "24")
def test_difference_bounds_by_hand() -> None:
    assert_close(difference_bound_tight(tensor(0.5), tensor(0.75), tensor(2.0), tensor(6.0)), tensor(5.5))
    assert_close(difference_bound(tensor(0.5), tensor(0.75), tensor(6.0)), tensor(7.5))


@pytest.mark.equation("structural-inference", "16, tight", "16", "24")
@some
@given(seed=seeds)
def test_what_attention_ignores_cannot_move_the_pooled_value(seed: int) -> None:
    p = pair(seed)
    distance = (pooled(p.attention, p.values) - pooled(p.other_attention, p.other_values)).norm(dim=-1)
    center = centroid(p.attention, p.values, p.position)
    gap, other_gap = ((p.at(v) - center).norm(dim=-1) for v in (p.values, p.other_values))
    masses = p.at(p.attention), p.at(p.other_attention)
    tight = difference_bound_tight(*masses, gap, other_gap)
    assert (distance <= tight + 1e-9).all()
    assert (tight <= difference_bound(*masses, torch.maximum(gap, other_gap)) + 1e-9).all()
