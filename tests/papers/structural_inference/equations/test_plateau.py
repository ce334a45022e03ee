"""The plateau: how long contraction takes, and that the paper's bound points the other way."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import free_decay_time, norm_envelope, plateau_length


@pytest.mark.equation("structural-inference", "39")
def test_envelope_by_hand() -> None:
    assert_close(norm_envelope(tensor(8.0), 0.75, 4.0), tensor(0.5))


@pytest.mark.equation("structural-inference", "39")
@some
@given(seed=seeds)
def test_contraction_without_growth_stays_in_the_envelope(seed: int) -> None:
    draw = Draw(seed)
    first, decay = draw.positive(), draw.share() * 0.9 + 0.01
    norm = first
    for step in range(1, 20):
        norm = norm * (1 - decay).sqrt() * draw.share()  # any sequence with ‖W⁺‖² ≤ (1 − λ)‖W‖²
        assert (norm <= norm_envelope(first, decay, step) * (1 + 1e-12)).all()


@pytest.mark.equation("structural-inference", "5", "40", "5, free decay")
def test_decay_alone_refutes_the_lower_bound() -> None:
    norm, ceiling, decay = tensor(8.0, dtype=torch.float64), tensor(2.0, dtype=torch.float64), 1e-3
    assert_close(plateau_length(norm, ceiling, decay), tensor(2000 * math.log(4), dtype=torch.float64))
    steps = 0
    while norm > ceiling:
        norm, steps = norm * (1 - decay), steps + 1
    assert steps == math.ceil(free_decay_time(tensor(8.0, dtype=torch.float64), ceiling, decay).item()) == 1386
    assert steps < 0.51 * plateau_length(tensor(8.0, dtype=torch.float64), ceiling, decay)


@pytest.mark.equation("structural-inference", "5", "40", "5, free decay")
@some
@given(seed=seeds)
def test_the_plateau_length_is_an_upper_bound_on_contraction(seed: int) -> None:
    draw = Draw(seed)
    norm, decay = draw.positive(), draw.share() * 0.9 + 0.01
    ceiling = norm * (0.01 + 0.98 * draw.share())
    steps = plateau_length(norm, ceiling, decay)
    assert (norm_envelope(norm, decay, steps) <= ceiling * (1 + 1e-9)).all()
    free = free_decay_time(norm, ceiling, decay)
    assert_close(norm * (1 - decay) ** free, ceiling, rtol=1e-9, atol=1e-12)
    assert (free <= steps / 2 + 1e-9).all()
