"""The embeddings of the operands in their Fourier planes: a network that has found modular arithmetic has circles there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch

from .base import StoredRun, probes
from .checkpoints import at_least, thinned
from .frequencies import modular_task, operand_embedding

if TYPE_CHECKING:
    from torch import Tensor

    from ..shapes import Float

CHECKPOINTS = 64
PLANES = 3
"""Frequencies that are kept: those with the largest share of the variance at the last checkpoint."""


class Plane(NamedTuple):
    """The embeddings at one frequency."""

    share: float
    """Of the variance of all embeddings over tokens."""
    points: Float[Tensor, "token 2"]
    """Their projection onto the directions that carry the cosine and the sine."""


@probes.register("embedding")
def embedding(run: StoredRun) -> pd.DataFrame:
    """Embeddings of the operands 0 … p−1, projected onto the planes of the strongest frequencies, at up to 64 checkpoints.

    Columns: epoch, frequency, share (of the variance, at that checkpoint), token, x, y.
    """
    p = modular_task(run).p
    epochs = thinned(at_least(run, 1), CHECKPOINTS)
    last = operand_embedding(run, run.network(epochs[-1]))
    strongest = sorted(range(1, p // 2 + 1), key=lambda k: -plane_at(last, k).share)[:PLANES]
    rows = []
    for epoch in epochs:
        weights = operand_embedding(run, run.network(epoch))
        for k in strongest:
            plane = plane_at(weights, k)
            own = {"epoch": epoch, "frequency": k, "share": plane.share}
            rows += [{**own, "token": token, "x": x, "y": y} for token, (x, y) in enumerate(plane.points.tolist())]
    return pd.DataFrame(rows)


def plane_at(weights: Float[Tensor, "token d"], frequency: int) -> Plane:
    """The embeddings in the plane spanned by Σₙ cos(2πkn/p) E_n and Σₙ sin(2πkn/p) E_n."""
    centred = weights.double() - weights.double().mean(0)
    count = len(centred)
    angle = 2 * math.pi * frequency / count * torch.arange(count, dtype=torch.float64)
    waves = torch.stack([angle.cos(), angle.sin()]) * math.sqrt(2 / count)
    directions = waves @ centred
    share = directions.square().sum() / centred.square().sum().clamp_min(1e-30)
    cosine = directions[0] / directions[0].norm().clamp_min(1e-30)
    rest = directions[1] - (directions[1] @ cosine) * cosine
    basis = torch.stack([cosine, rest / rest.norm().clamp_min(1e-30)])
    return Plane(share.item(), centred @ basis.T)
