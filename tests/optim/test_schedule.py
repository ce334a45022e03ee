"""Warm-up, cosine and clipping: by hand, and beside torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import vmap
from torch.testing import assert_close

from grokscope.ops.clipping import clip_scale
from grokscope.optim.sgd import SGD


def rates(epochs: list[int], last: int, **settings: Any) -> Tensor:
    return SGD(**settings).rate(torch.tensor(epochs), torch.tensor(last))


def test_warm_up_is_linear_then_constant() -> None:
    assert_close(rates([1, 5, 10, 11, 1000], 1000, lr=0.2, warmup=10), torch.tensor([0.02, 0.1, 0.2, 0.2, 0.2]))


def test_no_warm_up_starts_at_the_full_rate() -> None:
    assert_close(rates([1, 2], 10, lr=0.2, warmup=0), torch.tensor([0.2, 0.2]))


def test_cosine_falls_from_the_full_rate_to_nothing() -> None:
    # (1 + cos(π/3))/2 = 3/4, (1 + cos(π/2))/2 = 1/2, (1 + cos(2π/3))/2 = 1/4
    by_hand = torch.tensor([0.75, 0.5, 0.25, 0.0, 0.0])
    assert_close(rates([20, 30, 40, 60, 61], 60, lr=1.0, warmup=0, schedule="cosine"), by_hand, rtol=1e-6, atol=1e-6)


def test_warm_up_multiplies_the_cosine() -> None:
    assert_close(rates([20], 60, lr=1.0, warmup=40, schedule="cosine"), torch.tensor([0.375]))


def test_lanes_warm_up_each_by_its_own_setting() -> None:
    def rate(lr: Tensor, warmup: Tensor, epoch: Tensor) -> Tensor:
        return replace(SGD(), lr=lr, warmup=warmup).rate(epoch, torch.tensor(100))  # type: ignore[arg-type]

    got = vmap(rate)(torch.tensor([1.0, 1.0, 4.0]), torch.tensor([0.0, 4.0, 8.0]), torch.tensor([1, 1, 4]))
    assert_close(got, torch.tensor([1.0, 0.25, 2.0]))


@pytest.mark.parametrize("size", [1e-4, 0.1, 100.0])
@pytest.mark.parametrize("limit", [0.5, 1.0])
def test_clipping_is_that_of_torch(size: float, limit: float) -> None:
    grads = [size * torch.arange(1.0, 7.0).view(2, 3), size * torch.tensor([2.0, -1.0])]
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, limit, foreach=False)
    for parameter, grad in zip(parameters, grads, strict=True):
        assert parameter.grad is not None
        assert_close(clip_scale(norm, limit) * grad, parameter.grad)


def test_no_limit_leaves_the_gradient_alone() -> None:
    assert_close(clip_scale(torch.tensor([1e9, 0.0]), 0.0), torch.ones(2))


def test_each_lane_is_clipped_by_its_own_limit() -> None:
    scale = vmap(clip_scale)(torch.tensor([10.0, 10.0, 10.0, float("nan")]), torch.tensor([0.0, 1.0, 20.0, 1.0]))
    assert_close(scale[:3], torch.tensor([1.0, 0.1, 1.0]), rtol=1e-6, atol=0)
    assert scale[3].isnan()
