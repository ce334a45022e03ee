"""SGD, AdamW and Lion step by step beside a trusted implementation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from grokscope.optim.adamw import AdamW
from grokscope.optim.lion import Lion
from grokscope.optim.sgd import SGD

Path = Callable[..., Tensor]
tight = partial(assert_close, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 0.7])
def test_sgd_is_that_of_torch(
    follow: Path, follow_torch: Path, weight: Tensor, grads: Tensor, momentum: float, weight_decay: float
) -> None:
    ours = follow(SGD(lr=0.1, weight_decay=weight_decay, momentum=momentum), weight, grads)
    theirs = follow_torch(
        torch.optim.SGD, weight, grads, lr=0.1, weight_decay=weight_decay, momentum=momentum, foreach=False, fused=False
    )
    tight(ours, theirs)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.9, 0.98), (0.0, 0.5)])
@pytest.mark.parametrize("weight_decay", [0.0, 1.0])
def test_adamw_is_that_of_torch(
    follow: Path, follow_torch: Path, weight: Tensor, grads: Tensor, betas: tuple[float, float], weight_decay: float
) -> None:
    ours = AdamW(lr=0.03, weight_decay=weight_decay, beta1=betas[0], beta2=betas[1], eps=1e-6)
    theirs = {"lr": 0.03, "weight_decay": weight_decay, "betas": betas, "eps": 1e-6, "foreach": False, "fused": False}
    tight(follow(ours, weight, grads), follow_torch(torch.optim.AdamW, weight, grads, **theirs))


def test_adamw_is_that_of_torch_in_float32(follow: Path, follow_torch: Path, weight: Tensor, grads: Tensor) -> None:
    weight, grads = weight.float(), grads.float()
    theirs = follow_torch(torch.optim.AdamW, weight, grads, lr=1e-3, weight_decay=1.0, foreach=False, fused=False)
    # β₂ᵗ is rounded before 1 − β₂ᵗ is taken: a few 1e-5 of the first steps, which are η long.
    assert_close(follow(AdamW(), weight, grads), theirs, rtol=0, atol=1e-3 * 1e-4)


@pytest.mark.parametrize("weight_decay", [0.0, 3.0])
def test_lion_is_algorithm_2_of_its_paper(follow: Path, weight: Tensor, grads: Tensor, weight_decay: float) -> None:
    lr, beta1, beta2 = 0.01, 0.9, 0.95
    theta, mean, theirs = weight.clone(), torch.zeros_like(weight), []
    for grad in grads:
        c = beta1 * mean + (1 - beta1) * grad
        theta = theta - lr * (torch.sign(c) + weight_decay * theta)
        mean = beta2 * mean + (1 - beta2) * grad
        theirs.append(theta)
    ours = follow(Lion(lr=lr, weight_decay=weight_decay, beta1=beta1, beta2=beta2), weight, grads)
    tight(ours, torch.stack(theirs))


def test_lion_moves_each_weight_by_the_rate_and_stands_still_without_gradient(follow: Path) -> None:
    weight = torch.tensor([1.0, 1.0, 1.0])
    path = follow(Lion(lr=0.25, weight_decay=0.0), weight, torch.tensor([[1e-9, -5.0, 0.0]]))
    assert_close(path[0], torch.tensor([0.75, 1.25, 1.0]))
