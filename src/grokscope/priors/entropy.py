"""Entropy of attention as a penalty: concentrate on any positions (structural inference, App. F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..randomness import Key
from ..theory import attention_entropy
from .base import Prior, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@priors.register("entropy")
@dataclass(frozen=True, kw_only=True)
class Entropy(Prior):
    """β · H(α), averaged over heads and examples: encodes that few tokens matter, not which."""

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        assert out.log_attention is not None
        return attention_entropy(out.log_attention).mean()
