"""Whether the plain loop and the fleet train the same network: loss and all gradients on the same weights and batch.

A ratio of speeds means nothing otherwise, so that bench checks this before it times anything.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..errors import GrokscopeError
from ..launch.precision import resolved
from .fleet import Step, first_step, loaded
from .plain import PlainLoop

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..fleet.data import Batch
    from ..fleet.program import Program
    from ..tasks import Shape
    from ..tickets import Origin

TOLERANCE = {"float32": 1e-3, "tf32": 3e-2, "bf16": 2e-1}
"""Largest relative difference of the loss and of each gradient, by precision."""
SMALL = 0.05
"""A gradient that is a smaller share of the whole gradient is compared with this share of it: it is a difference of larger
terms, which are rounded."""


class DifferentNetworkError(GrokscopeError):
    """The plain loop and the fleet compute something else, so that no ratio of their speeds is given."""


def check_same_network(
    config: RunConfig, device: torch.device, program: Program | None = None, origin: Origin | None = None
) -> None:
    """Raise DifferentNetworkError unless the plain loop and the fleet compute the same loss and gradients.

    program   one that has not trained yet, whose first lane is the run of `config`; by default one with a single lane

    Dropout draws other numbers in a plain loop, so that both are compared without it.
    """
    config = resolved(config, device)
    if getattr(config.model, "dropout", 0):
        config, program = replace(config, model=replace(config.model, dropout=0.0)), None  # type: ignore[call-arg]
    plain = PlainLoop(config, device, origin)
    step = first_step(program or loaded(config, [config.seed], device, origin))
    worst, difference = max(differences(plain, step).items(), key=lambda item: item[1])
    if not difference <= TOLERANCE[config.precision]:
        raise DifferentNetworkError(
            f"the {worst} of the plain loop and of the fleet differ by {difference:.2g}, so their speeds are not compared"
        )


def differences(plain: PlainLoop, step: Step) -> dict[str, float]:
    """Relative differences of the loss and of the gradient of each trained weight."""
    batch = plain_batch(step.batch, plain.shape)
    plain.optim.zero_grad()
    with plain._products():
        loss = plain.objective(plain._prepared(batch), 0, step.key)
        loss.backward()
    found = {"losses": abs(loss.item() - step.loss.item()) / max(abs(loss.item()), 1e-6)}
    expected = {name: _gradient(plain, name) for name, w in plain.weights.items() if w.requires_grad}
    whole = torch.stack([gradient.norm() for gradient in expected.values()]).norm()
    for name, gradient in expected.items():
        size = max(gradient.norm().item(), SMALL * whole.item(), 1e-12)
        found[f"gradients of {name}"] = (step.gradients[name] - gradient).norm().item() / size
    return {what: math.inf if math.isnan(value) else value for what, value in found.items()}


def _gradient(plain: PlainLoop, name: str) -> Tensor:
    weight = plain.weights[name]
    grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
    return plain.to_model(name, grad if name not in plain.mask else grad * plain.mask[name])


def plain_batch(batch: Batch, shape: Shape) -> Batch:
    """A batch of the fleet with tokens or vectors in place of its lookup plan."""
    rest = {name: tensor for name, tensor in batch.items() if name not in ("row", "order", "starts", "vectors")}
    if shape.features:
        return rest | {"inputs": batch["vectors"]}
    return rest | {"inputs": batch["row"] // max(shape.length, shape.test_length)}
