"""Lasso on interactions: the labels as a sparse sum of products of up to k bits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..settings import LARGEST
from .base import Bout, Outcome, Rival, bits_of, parity_outcome, require_parity, rivals

if TYPE_CHECKING:
    from ...config import RunConfig

MOST = 50_000
"""Most products; larger ones are left out, and the note says so."""
STEPS = 200


@rivals.register("lasso")
@dataclass(frozen=True, kw_only=True)
class Lasso(Rival):
    """Least squares with an L1 penalty by FISTA (Beck and Teboulle 2009); λ by the squared error on validation examples. The
    support is that of the product with the largest coefficient."""

    penalties: tuple[float, ...] = (0.5, 0.2, 0.1, 0.05)
    """λ as fractions of the smallest λ at which every coefficient is 0."""

    def check_config(self, config: RunConfig) -> None:
        require_parity(config, "lasso")

    def compete(self, bout: Bout) -> Outcome:
        train, validation = bits_of(bout, "lasso")
        sizes = [bout.k] if bout.k is not None else list(range(1, LARGEST + 1))
        every = [own for size in sizes for own in itertools.combinations(range(train.inputs.shape[1] - 1), size)]
        subsets = every[:MOST]
        (x, y), (held_out, wanted) = (
            (_products(part.inputs, subsets), 1.0 - 2.0 * part.labels) for part in (train, validation)
        )
        top = float((x.T @ y).abs().max()) / len(y)
        found = [(penalty, fista(x, y, penalty * top)) for penalty in self.penalties]
        penalty, best = min(found, key=lambda one: float((held_out @ one[1] - wanted).square().mean()))
        support = subsets[int(best.abs().argmax())] if bool(best.any()) else None
        some = f", of {len(every):,}" if len(every) > MOST else ""
        return parity_outcome(
            "lasso", bout, support, f"no training: {len(subsets):,} products{some}, λ = {penalty:g} of the largest"
        )


def _products(tokens: torch.Tensor, subsets: list[tuple[int, ...]]) -> torch.Tensor:
    signs = 1.0 - 2.0 * tokens[:, :-1]
    out = torch.empty(len(tokens), len(subsets))
    for size, own in itertools.groupby(enumerate(subsets), key=lambda one: len(one[1])):
        places, sets = zip(*own, strict=True)
        product = torch.ones(len(tokens), len(sets))
        for place in range(size):
            product *= signs[:, [subset[place] for subset in sets]]
        out[:, list(places)] = product
    return out


def fista(x: torch.Tensor, y: torch.Tensor, penalty: float) -> torch.Tensor:
    """argmin ½ mean (x w − y)² + penalty ‖w‖₁."""
    vector = torch.ones(x.shape[1]) / x.shape[1] ** 0.5
    for _ in range(20):  # the largest eigenvalue of xᵀx/n, by power iteration
        vector = x.T @ (x @ vector) / len(y)
        size = vector.norm()
        vector = vector / size
    rate = 1 / (1.05 * float(size))
    w = ahead = torch.zeros(x.shape[1])
    momentum = 1.0
    for _ in range(STEPS):
        step = ahead - rate * (x.T @ (x @ ahead - y)) / len(y)
        new = step.sign() * (step.abs() - rate * penalty).clamp_min(0.0)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = new + (momentum - 1) / following * (new - w)
        w, momentum = new, following
    return w
