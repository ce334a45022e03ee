"""Stochastic gates (Yamada et al. 2020): z = clamp(μ + σ ε, 0, 1) with Gaussian ε."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ....settings import require
from .base import attentions
from .gates import Gated

if TYPE_CHECKING:
    from torch import Tensor

    from ....randomness import Key


@attentions.register("stg")
@dataclass(frozen=True, kw_only=True)
class StochasticGates(Gated):
    """Softmax with Gaussian gates on positions: α_j ∝ z_j exp(ℓ_j/τ); the penalty is λ Σ_j Φ(μ_j/σ)."""

    sigma: float = 0.5
    """Standard deviation σ of the noise on a gate."""

    def check(self) -> None:
        super().check()
        require(self.sigma > 0, "sigma", f"{self.sigma} is not above 0")

    def draw(self, gate: Tensor, examples: int, key: Key) -> Tensor:
        noise = key.normal("gates", (examples, gate.shape[0])).to(gate.dtype)
        return (gate + self.sigma * noise).clamp(0, 1)

    def middle(self, gate: Tensor) -> Tensor:
        return gate.clamp(0, 1)

    def open_probability(self, gate: Tensor) -> Tensor:
        return torch.special.ndtr(gate / self.sigma)
