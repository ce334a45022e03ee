"""The gradient of the task loss, part by part: which of them has run dry?"""

from __future__ import annotations

from collections import defaultdict

import pandas as pd
import torch

from ..optim import losses
from .base import StoredRun, probes
from .checkpoints import at_least


@probes.register("part-gradients")
def part_gradients(run: StoredRun) -> pd.DataFrame:
    """Frobenius norm of the gradient of the task loss on the training set, for every part of the network, by checkpoint.

    Columns: epoch, and one per part (embed, attention, mlp, readout), at the weights of the checkpoint; without prior,
    penalties and noise.
    """
    loss, examples = losses.get(run.config.loss), run.split.train
    labels = examples.labels
    rows = []
    for epoch in at_least(run, 1):
        network = run.network(epoch)
        weights = {name: weight.detach().requires_grad_() for name, weight in network.weights.items()}
        out = network.with_weights(weights).forward(examples)
        total = loss(out.logits.float().flatten(0, -2), labels.flatten()).mean()
        gradients = torch.autograd.grad(total, list(weights.values()), allow_unused=True, materialize_grads=True)
        squares: dict[str, float] = defaultdict(float)
        for name, gradient in zip(weights, gradients, strict=True):
            squares[network.parameters[name].part] += gradient.square().sum().item()
        rows.append({"epoch": epoch} | {part: square**0.5 for part, square in squares.items()})
    return pd.DataFrame(rows)
