"""A control: a gradient on the attention logits as large as the KL prior's, in a random direction drawn at every step.

If this ends the plateau too, then any active loss term does, and knowledge of the structure is not what helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..randomness import Key
from ..theory import kl_logit_gradient
from .base import Prior, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@priors.register("noise")
@dataclass(frozen=True, kw_only=True)
class Noise(Prior):
    """β · Σ_j ξ_j ℓ_j with ξ random per example and step, and ‖ξ‖ = ‖α − α*‖, the size of the KL gradient (Eq. 45)."""

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        assert out.attention is not None and out.attention_logits is not None
        size = kl_logit_gradient(out.attention.mean(1), target).norm(dim=-1, keepdim=True)
        draw = key.normal("noise prior", tuple(target.shape))
        xi = (size * draw / draw.norm(dim=-1, keepdim=True)).detach()
        return (xi * out.attention_logits.mean(1)).sum(-1).mean()
