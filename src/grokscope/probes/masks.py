"""Weight matrices and their masks, for pictures (grokking tickets, App. K, Figures 20 and 21)."""

from __future__ import annotations

import pandas as pd

from ..store.blocks import flag_cell, number_cells
from ..theory import magnitude_mask
from .base import StoredRun, probes
from .checkpoints import at_least
from .jaccard import RATE

LARGEST = 128
"""Rows and columns that are kept, the first ones: hidden units can be exchanged, and averages would blur periods away."""
PRUNED = 0.01
"""A run with a larger share of weights at exactly 0 was pruned."""


@probes.register("masks")
def masks(run: StoredRun) -> pd.DataFrame:
    """Every weight matrix at the last checkpoint with its mask, at most 128 × 128 of it.

    The mask of a pruned run is what is left of it (weights that are not 0); that of a dense run is what magnitude pruning of each
    matrix by itself would leave at rate 0.6. `size` is that of the whole matrix.
    """
    epoch = at_least(run, 1)[-1]
    weights = {name: weight for name, weight in run.network(epoch).weights.items() if weight.ndim == 2}
    zeros = sum(int((weight == 0).sum()) for weight in weights.values())
    was_pruned = zeros > PRUNED * sum(weight.numel() for weight in weights.values())
    rows = []
    for layer, weight in weights.items():
        lives = weight != 0 if was_pruned else magnitude_mask(weight.flatten(), RATE).view(weight.shape)
        block, mask = (tensor[:LARGEST, :LARGEST].numpy() for tensor in (weight, lives))
        size = f"{weight.shape[0]} × {weight.shape[1]}"
        rows.append({"epoch": epoch, "layer": layer, "size": size, **number_cells(block), "mask": flag_cell(mask)})
    return pd.DataFrame(rows)
