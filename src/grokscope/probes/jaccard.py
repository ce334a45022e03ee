"""How fast the subnetwork changes, compared with the change of test accuracy (grokking tickets, §5.1, Figures 7 and 14)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ..theory import jaccard_distance, magnitude_mask
from .base import StoredRun, probes
from .checkpoints import at_least

if TYPE_CHECKING:
    from torch import Tensor

RATE = 0.6
"""Share that is pruned; the paper's default."""
ALL = "all"
"""The layer that stands for all weights together."""


@probes.register("jaccard")
def jaccard(run: StoredRun) -> pd.DataFrame:
    """Jaccard distance of the magnitude masks (rate 0.6) of consecutive checkpoints by layer, and the change of test accuracy.

    A layer is a weight matrix, pruned by itself; layer "all" prunes all of them together. Biases are never pruned. The last
    checkpoint may be nearer to the one before it than the others are: see `previous`.
    """
    epochs = at_least(run, 2)
    rows = []
    before = _masks(run, epochs[0])
    for previous, epoch in pairwise(epochs):
        after = _masks(run, epoch)
        change = _accuracy(run.metrics, epoch) - _accuracy(run.metrics, previous)
        rows += [
            {
                "epoch": epoch,
                "previous": previous,
                "layer": layer,
                "distance": jaccard_distance(after[layer], before[layer]).item(),
                "accuracy_change": change,
            }
            for layer in after
        ]
        before = after
    return pd.DataFrame(rows)


def _masks(run: StoredRun, epoch: int) -> dict[str, Tensor]:
    network = run.network(epoch)
    layers = {name: network.weights[name].flatten() for name, p in network.parameters.items() if p.role != "bias"}
    layers[ALL] = torch.cat(list(layers.values()))
    return {name: magnitude_mask(layer, RATE) for name, layer in layers.items()}


def _accuracy(metrics: pd.DataFrame, epoch: int) -> float:
    """Test accuracy at the last evaluation up to `epoch`."""
    return float(metrics.loc[metrics["epoch"] <= epoch, "test_accuracy"].iloc[-1])
