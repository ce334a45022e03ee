"""Spectral norms and Lipschitz constants."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch import tensor
from torch.testing import assert_close

from grokscope.theory import residual_lipschitz, spectral_norm, two_layer_lipschitz


@some
@given(seed=seeds)
def test_spectral_norm_is_above_the_truth_by_little(seed: int) -> None:
    draw = Draw(seed)
    matrix = draw.normal(draw.whole(1, 9), draw.whole(1, 9))
    truth = torch.linalg.matrix_norm(matrix, 2)
    assert (spectral_norm(matrix) >= truth * (1 - 1e-12)).all()
    assert (spectral_norm(matrix) <= truth * 9 ** (1 / 1024)).all()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_spectral_norm_neither_overflows_nor_vanishes(scale: float) -> None:
    """Equal singular values vanish soonest when a matrix of trace 1 is squared."""
    wide = scale * torch.eye(1500)
    assert spectral_norm(wide).item() == pytest.approx(scale * 1500 ** (1 / 1024), rel=1e-3)
    assert spectral_norm(0 * wide) < 1e-15
    assert spectral_norm(torch.nan * wide).isnan()


@pytest.mark.equation("structural-inference", "23", "23, residual")
def test_lipschitz_bounds_by_hand() -> None:
    W_in, W_out = tensor([[3.0, 0.0], [0.0, 0.0]]), tensor([[0.0, 2.0], [0.0, 0.0]])
    assert_close(two_layer_lipschitz(W_in, W_out), tensor(6.0))
    assert_close(residual_lipschitz(W_in, W_out, tensor([[5.0], [0.0]])), tensor(35.0))


@pytest.mark.equation("structural-inference", "23", "23, residual")
@some
@given(seed=seeds)
def test_no_pair_of_inputs_exceeds_the_bounds(seed: int) -> None:
    draw = Draw(seed)
    d, hidden = draw.width, draw.whole(1, 8)
    h, other = draw.normal(d), draw.normal(d)
    W_in, W_out, W_back, W_U = (draw.normal(*s) for s in ((d, hidden), (hidden, 3), (hidden, d), (d, 4)))

    def minimal(x):
        return (torch.relu(x[:, None] @ W_in) @ W_out)[:, 0]

    def residual(x):
        return ((x[:, None] + torch.relu(x[:, None] @ W_in) @ W_back) @ W_U)[:, 0]

    for network, bound in (
        (minimal, two_layer_lipschitz(W_in, W_out)),
        (residual, residual_lipschitz(W_in, W_back, W_U)),
    ):
        change = (network(h) - network(other)).norm(dim=-1)
        assert (change <= bound * (h - other).norm(dim=-1) * (1 + 1e-9)).all()
