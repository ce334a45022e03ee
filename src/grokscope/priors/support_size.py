"""How many tokens matter, but not which: the entropy of attention is drawn towards log k.

The entropy penalty of structural inference (App. F) is least at zero entropy, where attention holds one token; the answer depends
on k of them. This prior asks for the entropy that the oracle has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..randomness import Key
from ..theory import attention_entropy
from .base import Prior, pooled_log_attention, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@priors.register("support-size")
@dataclass(frozen=True, kw_only=True)
class SupportSize(Prior):
    """β · |H(α) − log k|, averaged over examples; α is averaged over heads, and k is the number of informative positions."""

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        wanted = torch.log((target > 0).sum(-1).to(target.dtype))
        return (attention_entropy(pooled_log_attention(out)) - wanted).abs().mean()
