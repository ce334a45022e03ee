"""How far a run can be compressed (inductive bias): directions of its hidden layer, and weights that it does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..analysis.features import effective_rank, participation_ratio, pca_dimension, variances
from ..errors import StoreError
from ..theory import magnitude_mask
from .base import Network, StoredRun, probes
from .checkpoints import at_least
from .examples import accuracy, in_detail, some

if TYPE_CHECKING:
    from torch import Tensor

    from ..tasks import Examples

LOSS = 0.01
"""Accuracy that a mask may cost."""
STEPS = 100
"""Kept shares are tried in steps of one percent."""


@probes.register("compressibility")
def compressibility(run: StoredRun) -> pd.DataFrame:
    """Dimensions of the hidden layer on test inputs, and the smallest share of weights that keeps the accuracy, by checkpoint.

    Of the hidden layer: `participation_ratio`, `effective_rank`, and `pca_dimension` (directions with 95 % of the variance).
    `kept_test` and `kept_train` are the smallest shares of each weight matrix, largest weights first, with which the accuracy
    on that set is at most one percentage point lower (found by bisection, in percent). Of a run that does not generalise
    `kept_test` is meaningless: chance level needs no weights at all. Sets have at most 2048 examples.
    """
    sets = {side: some(examples) for side, examples in run.split._asdict().items()}
    rows = []
    for epoch in at_least(run, 1):
        network = run.network(epoch)
        out = in_detail(network, sets["test"])
        if out.hidden is None:
            raise StoreError(f"run {run.id}: model {run.config.model.kind} shows no hidden layer")
        spectrum = variances(out.hidden.double().numpy())
        row = {
            "epoch": epoch,
            "participation_ratio": participation_ratio(spectrum),
            "effective_rank": effective_rank(spectrum),
            "pca_dimension": pca_dimension(spectrum),
        }
        for side, examples in sets.items():
            row |= {f"{side}_accuracy": accuracy(network(examples), examples)}
            row |= {f"kept_{side}": smallest_kept(network, examples)}
        rows.append(row)
    return pd.DataFrame(rows)


def smallest_kept(network: Network, examples: Examples) -> float:
    """The smallest share, by bisection: as if a larger share never gave a lower accuracy."""
    enough = accuracy(network(examples), examples) - LOSS
    low, high = 0, STEPS
    while high - low > 1:
        middle = (low + high) // 2
        smaller = network.with_weights(masked(network.weights, middle / STEPS))
        good = accuracy(smaller(examples), examples) >= enough
        low, high = (low, middle) if good else (middle, high)
    return high / STEPS


def masked(weights: dict[str, Tensor], kept: float) -> dict[str, Tensor]:
    """Each weight matrix with its largest weights alone; biases stay."""
    return {
        name: w * magnitude_mask(w.flatten(), 1 - kept).view(w.shape) if w.ndim > 1 else w
        for name, w in weights.items()
    }
