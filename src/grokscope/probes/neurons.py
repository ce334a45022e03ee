"""What each hidden neuron reads, and its spectrum (grokking tickets, §5.3 and App. F, Figures 8, 17 and 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..errors import StoreError
from ..measures.fourier import amplitudes
from ..store.blocks import number_cells
from .base import Stored, probes
from .checkpoints import at_least, thinned
from .frequencies import modular_task

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Neurons

CHECKPOINTS = 4
LARGEST = 128
"""Neurons that are kept, the first ones."""


@probes.register("neurons")
def neurons(stored: Stored) -> pd.DataFrame:
    """Weights of the hidden neurons on the operands, and their amplitudes, at up to four checkpoints.

    A row is a matrix with a line a neuron: `what` = reads (on 0 … p−1) or spectrum (|F(ω)| of the reads, ω = 0 … ⌊p/2⌋).
    """
    rows = []
    for epoch in thinned(at_least(stored, 1), CHECKPOINTS):
        reads = operand_neurons(stored, stored.weights(epoch)).reads[:LARGEST]
        rows += [{"epoch": epoch, "what": "reads", **_cells(reads)}]
        rows += [{"epoch": epoch, "what": "spectrum", **_cells(amplitudes(reads))}]
    return pd.DataFrame(rows)


def operand_neurons(stored: Stored, weights: dict[str, Tensor]) -> Neurons:
    """The run's hidden neurons on the operands 0 … p−1; StoreError if its model has none to show."""
    p = modular_task(stored).p
    found = stored.config.model.neurons(weights)
    if found is None:
        raise StoreError(
            f"run {stored.info.id}: model {stored.config.model.kind} has no neurons that read single tokens"
        )
    return found._replace(reads=found.reads[:, :p])


def _cells(matrix: Tensor) -> dict[str, object]:
    return number_cells(matrix.numpy())
