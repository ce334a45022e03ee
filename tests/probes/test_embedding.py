"""Embeddings in their Fourier planes, and attention by head and position."""

from __future__ import annotations

import math

import pytest
import torch

from grokscope.probes.embedding import plane_at

P = 31
ANGLE = 2 * math.pi * torch.arange(P) / P


def circle(frequency: int, width: int = 6) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    basis, _ = torch.linalg.qr(torch.randn(width, 2, generator=generator))
    return torch.stack([(frequency * ANGLE).cos(), (frequency * ANGLE).sin()], 1) @ basis.T


def test_a_circle_has_all_its_variance_at_its_frequency():
    weights = 3.0 * circle(4) + 5.0  # a constant does not count
    plane = plane_at(weights, 4)
    assert plane.share == pytest.approx(1.0)
    torch.testing.assert_close(plane.points.norm(dim=1), torch.full((P,), 3.0, dtype=torch.float64), atol=1e-5, rtol=0)
    assert plane_at(weights, 5).share == pytest.approx(0.0, abs=1e-9)


def test_neighbours_on_the_circle_are_one_step_of_the_frequency_apart():
    points = plane_at(circle(4), 4).points
    turned = torch.atan2(points[:, 1], points[:, 0])
    step = torch.remainder(turned[1:] - turned[:-1], 2 * math.pi)
    torch.testing.assert_close(step, torch.full((P - 1,), 2 * math.pi * 4 / P, dtype=torch.float64), atol=1e-5, rtol=0)


def test_shares_of_all_frequencies_add_up_to_one():
    weights = torch.randn(P, 8, generator=torch.Generator().manual_seed(1))
    assert sum(plane_at(weights, k).share for k in range(1, P // 2 + 1)) == pytest.approx(1.0)


def test_embeddings_that_are_all_equal_have_no_plane():
    plane = plane_at(torch.ones(P, 4), 2)
    assert plane.share == 0.0 and bool(plane.points.isfinite().all())
