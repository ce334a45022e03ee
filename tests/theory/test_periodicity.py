"""The Fourier transform of weights and its entropy."""

from __future__ import annotations

import cmath
import math

import pytest
import torch
from hypothesis import given
from theory_cases import CASES, Draw, seeds, some
from torch import Tensor, tensor
from torch.testing import assert_close

from grokscope.theory import fourier_entropy, fourier_transform


@pytest.mark.equation("grokking-tickets", "App. F, F(ω)")
def test_transform_by_hand() -> None:
    # f = (1, 2, 3, 4): 10, 1 − 3 + i(4 − 2), 1 − 2 + 3 − 4, the conjugate
    assert_close(fourier_transform(tensor([1.0, 2.0, 3.0, 4.0])), tensor([10, -2 + 2j, -2, -2 - 2j]))


@pytest.mark.equation("grokking-tickets", "App. F, F(ω)")
@some
@given(seed=seeds)
def test_transform_is_its_defining_sum(seed: int) -> None:
    draw = Draw(seed)
    n = draw.whole(1, 12)
    weights = draw.normal(n)
    waves = tensor([[cmath.exp(-2j * math.pi * w * x / n) for x in range(n)] for w in range(n)], dtype=torch.complex128)
    assert_close(fourier_transform(weights), weights.to(waves.dtype) @ waves.T, rtol=1e-9, atol=1e-9)


def half_spectrum(weights: Tensor) -> Tensor:
    """|F(ω)| at ω = 0 … ⌊N/2⌋."""
    return fourier_transform(weights)[..., : weights.shape[-1] // 2 + 1].abs()


@pytest.mark.equation("grokking-tickets", "App. F, FE")
def test_entropy_by_hand() -> None:
    """One neuron of one frequency has none; an impulse has the same of all 34; a dead neuron counts 0."""
    x = torch.arange(67, dtype=torch.float64)
    wave, impulse = half_spectrum(torch.cos(2 * math.pi * 5 * x / 67 + 1)), half_spectrum((x == 3).double())
    assert_close(fourier_entropy(wave[None]), tensor(0.0, dtype=torch.float64), rtol=0, atol=1e-6)
    assert_close(fourier_entropy(impulse[None]), tensor(math.log(34), dtype=torch.float64))
    mixed = torch.stack([wave, impulse, torch.zeros_like(wave)])
    assert_close(fourier_entropy(mixed), tensor(math.log(34) / 3, dtype=torch.float64), rtol=1e-6, atol=0)


@pytest.mark.equation("grokking-tickets", "App. F, FE")
@some
@given(seed=seeds)
def test_entropy_ignores_scale_and_phase(seed: int) -> None:
    draw = Draw(seed)
    weights = draw.normal(3, 11)
    entropy = fourier_entropy(half_spectrum(weights))
    assert ((entropy >= 0) & (entropy <= math.log(6) + 1e-12)).all()
    scales = draw.positive(3)[..., None]
    assert_close(fourier_entropy(half_spectrum(scales * weights.roll(4, -1))), entropy, rtol=1e-9, atol=1e-9)
    assert entropy.shape == (CASES,)
