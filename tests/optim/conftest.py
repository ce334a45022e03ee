"""Helpers of these tests: the same gradients fed to our update, to torch's, and to several lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from grokscope.optim import Optimizer
from grokscope.randomness import Key

KEY = Key(torch.tensor(0), torch.tensor(0))
Draw = Callable[..., Tensor]


@pytest.fixture
def draw() -> Draw:
    """Normal float64 numbers: draw(*shape, seed=…)."""

    def normal(*shape: int, seed: int = 0) -> Tensor:
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    return normal


@pytest.fixture
def weight(draw: Draw) -> Tensor:
    return draw(5, 3, seed=1)


@pytest.fixture
def grads(draw: Draw) -> Tensor:
    """Gradients of 20 steps that shrink by orders of magnitude, as they do after memorisation."""
    return draw(20, 5, 3, seed=2) * torch.logspace(0, -4, 20, dtype=torch.float64).view(-1, 1, 1)


@pytest.fixture
def follow() -> Callable[..., Tensor]:
    """Our weights after each gradient [step …]; the rate stays at `optim.lr`."""

    def path(optim: Optimizer, weight: Tensor, grads: Tensor, role: Any = "matrix") -> Tensor:
        state = optim.init(weight, role)
        lr = torch.as_tensor(optim.lr, dtype=weight.dtype)
        weights = []
        for step, grad in enumerate(grads, 1):
            weight, state = optim.update(weight, grad, state, role=role, step=torch.tensor(step), lr=lr, key=KEY)
            weights.append(weight)
        return torch.stack(weights)

    return path


@pytest.fixture
def follow_torch() -> Callable[..., Tensor]:
    """The same by an optimizer of torch."""

    def path(kind: Callable[..., torch.optim.Optimizer], weight: Tensor, grads: Tensor, **settings: Any) -> Tensor:
        parameter = weight.clone().requires_grad_()
        optimizer = kind([parameter], **settings)
        weights = []
        for grad in grads:
            parameter.grad = grad.clone()
            optimizer.step()
            weights.append(parameter.detach().clone())
        return torch.stack(weights)

    return path


@pytest.fixture
def follow_lanes() -> Callable[..., Tensor]:
    """Our weights [step lane …]; each lane has its own `settings` [lane] and starts at its own step `first` [lane]."""

    def path(
        optim: Optimizer, settings: dict[str, Tensor], weight: Tensor, grads: Tensor, first: Tensor, role: Any
    ) -> Tensor:
        def one(own: Any, weight: Tensor, grad: Tensor, state: dict[str, Tensor], step: Tensor) -> Any:
            lane = replace(optim, **own)
            return lane.update(weight, grad, state, role=role, step=step, lr=lane.rate(step, torch.tensor(50)), key=KEY)

        state = vmap(lambda w: optim.init(w, role))(weight)
        weights = []
        for step, grad in enumerate(grads):
            weight, state = vmap(one)(settings, weight, grad, state, first + step)
            weights.append(weight)
        return torch.stack(weights)

    return path
