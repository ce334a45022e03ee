"""Stochastic gates on positions, shared by `stg` and `hard-concrete`: which tokens matter is learned together with the weights.

A gate z_j ∈ [0, 1] multiplies the attention that position j gets, from every query and in every head of a layer:
α_j ∝ z_j exp(ℓ_j/τ). Gates are drawn for each example and step of training; an evaluation uses their middle value. The loss
grows by λ times the expected number of open gates. The query itself, at the last position, is always open.

Gates are counted back from the query; only the penalty acts on those that no training sequence reaches. Their parameters are
trained by the run's optimizer at a learning rate of their own, without warm-up, schedule or weight decay. Gradient filters and
clipping treat them as any other weight: the norm that is clipped includes their gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ....settings import require
from ....shapes import Float
from ...base import Parameter
from .softmax import Softmax

if TYPE_CHECKING:
    from torch import Tensor

    from ....randomness import Key
    from ..base import Sizes

CLOSED = 1e-6
"""Smallest factor of a gate: keeps log z finite."""
START = 0.5
"""Initial parameter of every gate."""


@dataclass(frozen=True, kw_only=True)
class Gated(Softmax):
    """Base of softmax attention with gates; a subclass defines `draw`, `middle` and `open_probability`."""

    strength: float = 0.1
    """Strength λ of the penalty on the expected number of open gates."""
    rate: float = 0.01
    """Learning rate of the gates' parameters."""

    def check(self) -> None:
        super().check()
        require(self.strength >= 0, "strength", f"{self.strength} is below 0")
        require(self.rate > 0, "rate", f"{self.rate} is not above 0")

    def draw(self, gate: Float[Tensor, "gate"], examples: int, key: Key) -> Float[Tensor, "example gate"]:
        """Random gates z of so many examples."""
        raise NotImplementedError

    def middle(self, gate: Float[Tensor, "gate"]) -> Float[Tensor, "gate"]:
        """The gates z of an evaluation."""
        raise NotImplementedError

    def open_probability(self, gate: Float[Tensor, "gate"]) -> Float[Tensor, "gate"]:
        """P(z_j > 0)"""
        raise NotImplementedError

    def parameters(self, sizes: Sizes) -> dict[str, Parameter]:
        shape = (sizes.positions - 1,)
        return {"gate": Parameter(shape, "bias", 0.0, "attention", mean=START, lr=self.rate, decays=False)}

    def log_gates(
        self,
        weights: dict[str, Tensor],
        examples: int,
        positions: int,
        *,
        training: bool = False,
        key: Key | None = None,
        layer: int = 0,
    ) -> Float[Tensor, "... position"]:
        gate = weights["gate"]
        gate = gate[gate.shape[0] + 1 - positions :]
        if not training:
            opened = self.middle(gate).unsqueeze(0)
        elif key is None:
            raise ValueError(
                "gates in training need a key, the source of their randomness: forward(…, key=Key(seed, step))"
            )
        else:
            opened = self.draw(gate, examples, key.fold(f"layer {layer}"))
        opened = torch.cat([opened, torch.ones_like(opened[:, :1])], 1)
        return self.temperature * opened.clamp_min(CLOSED).log()  # `normalise` divides by the temperature

    def penalty(self, weights: dict[str, Tensor]) -> Float[Tensor, ""]:
        """λ Σ_j P(z_j > 0)"""
        return self.strength * self.open_probability(weights["gate"]).sum()
