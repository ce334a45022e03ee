"""When values are looked at, and what a user sees."""

from __future__ import annotations

import math

import pytest
import torch
from torch import tensor

from grokscope.papers.structural_inference.equations import necessary_divergence, threshold
from grokscope.theory import divergence, least_mass, oracle_target
from grokscope.theory.equations import equation


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: least_mass(tensor([0.5, 0.6]), tensor([True, False])),
            "least_mass(attention): sums to 1.1, not to one",
        ),
        (
            lambda: least_mass(tensor([1.5, -0.5]), tensor([True, False])),
            "least_mass(attention): contains -0.5; a distribution has no negative entries",
        ),
        (
            lambda: oracle_target(tensor([[True, False], [False, False]])),
            "oracle_target(informative): k = 0, no position is informative",
        ),
        (
            lambda: necessary_divergence(tensor([True]), tensor([0.5, 0.0])),
            "necessary_divergence(gamma): 0 is not above 0",
        ),
        (
            lambda: threshold(tensor(1.0), tensor(float("inf")), tensor(1.0)),
            "threshold(lipschitz): inf is not finite",
        ),
        (
            lambda: divergence(tensor([1.0, 0.0]), tensor([1.0, 0.0]).log()),
            "divergence(log_attention): -inf is not finite",
        ),
    ],
)
def test_messages(call, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == message


def test_whole_numbers_may_be_a_distribution() -> None:
    assert divergence(tensor([1, 0]), tensor([0.5, 0.5]).log()).item() == pytest.approx(math.log(2))
    with pytest.raises(ValueError, match=r"sums to 2, not to one"):
        divergence(tensor([1, 1]), tensor([0.5, 0.5]).log())


def test_single_precision_may_miss_one_by_its_rounding() -> None:
    attention = torch.softmax(torch.randn(1000, 50, generator=torch.Generator().manual_seed(0)) * 5, -1)
    informative = torch.arange(50).expand(1000, 50) < 3
    assert least_mass(attention, informative).shape == (1000,)


def test_inside_a_transform_nothing_is_looked_at() -> None:
    bad = tensor([[0.9, 0.9], [0.1, 0.1]])
    informative = tensor([True, False])
    masses = torch.func.vmap(lambda a: least_mass(a, informative))(bad)
    assert masses.tolist() == pytest.approx([0.9, 0.1])


def test_a_number_cannot_be_claimed_twice() -> None:
    with pytest.raises(ValueError, match=r"^structural-inference 45 is registered for kl_logit_gradient and mine$"):

        @equation("structural-inference", "45", tex="x")
        def mine() -> None:
            """Mine."""
