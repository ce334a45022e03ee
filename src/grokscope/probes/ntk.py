"""Drift of the neural tangent kernel (inductive bias): a network that is trained lazily keeps the kernel that it began with.

The authors' code takes the gradient of the *sum* of an example's logits, which softmax does not see: adding a constant to all
logits changes no answer. `relative` is their number. The other columns are of the kernel that training does see: that of
logits minus their mean over classes, of a few classes.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor
from torch.func import vjp, vmap

from ..randomness import stream
from ..shapes import Float
from ..tasks import Examples
from .base import Network, StoredRun, probes
from .checkpoints import at_least, thinned
from .examples import accuracy, some

EXAMPLES = 16
"""Training examples between which the kernel is taken."""
CLASSES = 3
"""Classes whose logits it is taken of; drawn from the seed, the same at every checkpoint."""
CHECKPOINTS = 12


class Kernels(NamedTuple):
    """Products of gradients on all weights."""

    summed: Float[Tensor, "example example"]
    """Of the sum of each example's logits."""
    centred: Float[Tensor, "output output"]
    """Of each example's logits of CLASSES classes, minus the mean of all its logits."""


@probes.register("ntk")
def ntk(run: StoredRun) -> pd.DataFrame:
    """Distance of the empirical neural tangent kernel from its start and from the checkpoint before, at up to twelve checkpoints.

    `relative` is ‖K − K₀‖/‖K₀‖ of the sum of the logits. `start` and `previous` are 1 − ⟨K, K′⟩/(‖K‖‖K′‖) of the centred logits of
    three classes: 0 for a kernel that changed in size alone. `trace` is the trace of K over that of K₀. Sixteen training examples.
    """
    sides = run.split
    examples = Examples(sides.train.inputs[:EXAMPLES], sides.train.labels[:EXAMPLES], _first(sides.train.informative))
    order = torch.randperm(run.config.task.shape.classes, generator=stream(run.config.seed_for("data"), "ntk"))
    first = before = kernels(run.start(), examples, order[:CLASSES])
    rows = []
    for epoch in [0, *thinned(at_least(run, 1), CHECKPOINTS)]:
        network = run.network(epoch) if epoch else run.start()
        now = kernels(network, examples, order[:CLASSES]) if epoch else first
        scores = {
            f"{side}_accuracy": accuracy(network(own), own)
            for side, own in (("train", some(sides.train)), ("test", some(sides.test)))
        }
        drift = ((now.summed - first.summed).norm() / first.summed.norm()).item()
        rows.append(
            {
                "epoch": epoch,
                **scores,
                "relative": drift,
                "start": distance(now.centred, first.centred),
                "previous": distance(now.centred, before.centred),
                "trace": (now.centred.trace() / first.centred.trace()).item(),
            }
        )
        before = now
    return pd.DataFrame(rows)


def _first(informative: Tensor | None) -> Tensor | None:
    return None if informative is None else informative[:EXAMPLES]


def kernels(network: Network, examples: Examples, classes: Tensor) -> Kernels:
    """Exact: the gradients of all outputs, in one batched backward pass."""

    def outputs(weights: dict[str, Tensor]) -> Tensor:
        logits = network.with_weights(weights).forward(examples).answers
        centred = (logits - logits.mean(-1, keepdim=True))[:, classes]
        return torch.cat([logits.sum(-1), centred.flatten()])

    found, pull_back, *_ = vjp(outputs, network.weights)
    grads = vmap(pull_back)(torch.eye(len(found), dtype=found.dtype))[0]
    rows = torch.cat([grad.flatten(1) for grad in grads.values()], 1)
    summed, centred = rows.split([len(examples.labels), len(found) - len(examples.labels)])
    return Kernels(summed @ summed.mT, centred @ centred.mT)


def distance(kernel: Float[Tensor, "n n"], other: Float[Tensor, "n n"]) -> float:
    """1 − ⟨K, K′⟩/(‖K‖‖K′‖) (Fort et al. 2020): 0 for kernels that are equal up to a factor, 1 for orthogonal ones."""
    return 1 - ((kernel * other).sum() / (kernel.norm() * other.norm())).item()
