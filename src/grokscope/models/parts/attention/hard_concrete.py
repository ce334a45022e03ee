"""L0 regularisation with hard-concrete gates (Louizos, Welling and Kingma 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .base import attentions
from .gates import Gated

if TYPE_CHECKING:
    from torch import Tensor

    from ....randomness import Key

LOW, HIGH, TEMPERATURE = -0.1, 1.1, 2 / 3
"""γ, ζ and β of the paper."""


@attentions.register("hard-concrete")
@dataclass(frozen=True, kw_only=True)
class HardConcrete(Gated):
    """Softmax with gates that are exactly 0 or 1 with positive probability; the penalty is λ times their expected L0 norm.

    z = clamp(s (ζ − γ) + γ, 0, 1) with s = σ((logit u + log α)/β) and uniform u
    """

    rate: float = 0.05
    """Learning rate of log α."""

    def draw(self, gate: Tensor, examples: int, key: Key) -> Tensor:
        u = key.uniform("gates", (examples, gate.shape[0])).to(gate.dtype).clamp(1e-6, 1 - 1e-6)
        return _stretched(torch.sigmoid((u.logit() + gate) / TEMPERATURE))

    def middle(self, gate: Tensor) -> Tensor:
        return _stretched(torch.sigmoid(gate))

    def open_probability(self, gate: Tensor) -> Tensor:
        return torch.sigmoid(gate - TEMPERATURE * math.log(-LOW / HIGH))


def _stretched(s: Tensor) -> Tensor:
    return (s * (HIGH - LOW) + LOW).clamp(0, 1)
