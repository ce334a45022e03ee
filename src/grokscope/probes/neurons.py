"""What each hidden neuron reads, and its spectrum (grokking tickets, §5.3 and App. F, Figures 8, 17 and 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..errors import StoreError
from ..measures.fourier import amplitudes
from ..store.blocks import number_cells
from .base import Network, StoredRun, probes
from .checkpoints import at_least, thinned
from .frequencies import modular_task

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Neurons

CHECKPOINTS = 4
LARGEST = 128
"""Neurons that are kept, the first ones."""


@probes.register("neurons")
def neurons(run: StoredRun) -> pd.DataFrame:
    """Weights of the hidden neurons on the operands, and their amplitudes, at up to four checkpoints.

    A row is a matrix with one line per neuron: `what` = reads (on 0 … p−1) or spectrum (|F(ω)| of the reads, ω = 0 … ⌊p/2⌋).
    """
    rows = []
    for epoch in thinned(at_least(run, 1), CHECKPOINTS):
        reads = operand_neurons(run, run.network(epoch)).reads[:LARGEST]
        rows += [{"epoch": epoch, "what": "reads", **_cells(reads)}]
        rows += [{"epoch": epoch, "what": "spectrum", **_cells(amplitudes(reads))}]
    return pd.DataFrame(rows)


def operand_neurons(run: StoredRun, network: Network) -> Neurons:
    """The run's hidden neurons on the operands 0 … p−1; StoreError if its model has none to show."""
    p = modular_task(run).p
    found = network.config.model.neurons(network.weights)
    if found is None:
        raise StoreError(f"run {run.id}: model {run.config.model.kind} has no neurons that read single tokens")
    return found._replace(reads=found.reads[:, :p])


def _cells(matrix: Tensor) -> dict[str, object]:
    return number_cells(matrix.numpy())
