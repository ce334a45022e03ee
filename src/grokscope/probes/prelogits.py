"""Compressibility of the pre-logits, the residual stream that is unembedded (inductive bias).

The definitions are those of the authors' code: Z has one row per input and is not centred, λ are the eigenvalues of ZᵀZ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..analysis.features import effective_rank, participation_ratio
from ..errors import StoreError
from ..shapes import Float
from .base import StoredRun, probes
from .checkpoints import at_least
from .examples import accuracy, in_detail, some

if TYPE_CHECKING:
    from torch import Tensor

    from ..analysis.features import Values


@probes.register("prelogits")
def prelogits(run: StoredRun) -> pd.DataFrame:
    """Effective rank of the pre-logits on training and test inputs, with the accuracy on both, by checkpoint.

    With λ the eigenvalues of ZᵀZ: `effective_rank_train` and `effective_rank_test` are exp of the entropy of λ/Σλ,
    `participation_train` and `participation_test` are (Σλ)²/Σλ². Sets have at most 2048 examples.
    """
    sets = {side: some(examples) for side, examples in run.split._asdict().items()}
    rows = []
    for epoch in at_least(run, 1):
        network = run.network(epoch)
        row: dict[str, float] = {"epoch": epoch}
        for side, examples in sets.items():
            out = in_detail(network, examples)
            if out.prelogits is None:
                raise StoreError(f"run {run.id}: model {run.config.model.kind} shows no pre-logits")
            spectrum = eigenvalues(out.prelogits)
            row |= {
                f"{side}_accuracy": accuracy(out, examples),
                f"effective_rank_{side}": effective_rank(np.square(spectrum)),  # its singular values are λ here
                f"participation_{side}": participation_ratio(spectrum),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def eigenvalues(features: Float[Tensor, "example d"]) -> Float[Values, "direction"]:
    """Of ZᵀZ, not below 0."""
    z = features.double().numpy()
    return np.clip(np.linalg.eigvalsh(z.T @ z), 0.0, None)
