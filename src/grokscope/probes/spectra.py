"""Which frequencies the neurons use during training (grokking tickets, §5.3, Figure 18; Nanda et al. 2023)."""

from __future__ import annotations

import pandas as pd
import torch

from ..measures.fourier import amplitudes
from .base import StoredRun, probes
from .checkpoints import at_least, thinned
from .frequencies import key_frequencies, operand_embedding
from .neurons import operand_neurons

CHECKPOINTS = 8


@probes.register("spectra")
def spectra(run: StoredRun) -> pd.DataFrame:
    """Amplitude of every frequency at up to eight checkpoints: mean over neurons, and the share of neurons it is strongest in.

    `side` is reads (operands) or writes (classes); `amplitude` the mean of |F(ω)| over neurons; `share` the part of the neurons
    whose strongest frequency other than 0 it is. `key` marks the key frequencies of that checkpoint: the smallest set that
    carries 90 % of the power of the operands' embedding without its constant part.
    """
    tables = []
    for epoch in thinned(at_least(run, 1), CHECKPOINTS):
        network = run.network(epoch)
        key = key_frequencies(operand_embedding(run, network))
        for side, values in operand_neurons(run, network)._asdict().items():
            size = amplitudes(values)
            strongest = size[:, 1:].argmax(1) + 1
            share = torch.bincount(strongest, minlength=size.shape[1]) / len(size)
            frequency = range(size.shape[1])
            columns = {"frequency": frequency, "amplitude": size.mean(0).numpy(), "share": share.numpy()}
            table = pd.DataFrame(columns).assign(key=[ω in key for ω in frequency])
            tables.append(table.assign(epoch=epoch, side=side))
    found = pd.concat(tables, ignore_index=True)
    return found[["epoch", "side", "frequency", "amplitude", "share", "key"]]
