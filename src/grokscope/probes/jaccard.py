"""How fast the subnetwork changes, beside the change of test accuracy (grokking tickets, §5.1, Figures 7 and 14)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ..store import read_metrics
from ..theory import jaccard_distance, magnitude_mask
from .base import Stored, probes
from .checkpoints import at_least

if TYPE_CHECKING:
    from torch import Tensor

RATE = 0.6
"""Share that is pruned; the paper's default."""
ALL = "all"
"""The layer that stands for all weights together."""


@probes.register("jaccard")
def jaccard(stored: Stored) -> pd.DataFrame:
    """Jaccard distance of the magnitude masks (rate 0.6) of consecutive checkpoints by layer, and the change of test accuracy.

    A layer is a weight matrix, pruned by itself; layer "all" prunes all of them together. Biases are never pruned. The last
    checkpoint may be nearer to the one before it than the others are: see `previous`.
    """
    epochs = at_least(stored, 2)
    metrics = read_metrics(stored.info).to_pandas()
    rows = []
    before = _masks(stored, epochs[0])
    for previous, epoch in pairwise(epochs):
        after = _masks(stored, epoch)
        change = _accuracy(metrics, epoch) - _accuracy(metrics, previous)
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


def _masks(stored: Stored, epoch: int) -> dict[str, Tensor]:
    weights = stored.weights(epoch)
    parameters = stored.config.model.parameters(stored.config.task.shape)
    layers = {name: weights[name].flatten() for name, parameter in parameters.items() if parameter.role != "bias"}
    layers[ALL] = torch.cat(list(layers.values()))
    return {name: magnitude_mask(layer, RATE) for name, layer in layers.items()}


def _accuracy(metrics: pd.DataFrame, epoch: int) -> float:
    """Test accuracy at the last evaluation up to `epoch`."""
    return float(metrics.loc[metrics["epoch"] <= epoch, "test_accuracy"].iloc[-1])
