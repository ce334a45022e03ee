"""Sparsity of attention as a penalty. L1 is constant on the simplex, so the paper's "sparsity" must be another norm:
here L_½ or minus the squared L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from ..randomness import Key
from .base import Prior, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@priors.register("sparsity")
@dataclass(frozen=True, kw_only=True)
class Sparsity(Prior):
    """β · Σ_j √α_j, or −β · Σ_j α_j², averaged over heads and examples."""

    norm: Literal["half", "negative-l2"] = "half"
    """half: Σ √α_j; negative-l2: −Σ α_j²."""

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        assert out.attention is not None and out.log_attention is not None
        if self.norm == "half":
            return torch.exp(0.5 * out.log_attention).sum(-1).mean()
        return -out.attention.square().sum(-1).mean()
