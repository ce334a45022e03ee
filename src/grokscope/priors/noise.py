"""A control: a gradient on the attention logits as large as the KL prior's, in a random direction drawn at every step.

If this ends the plateau too, then any active loss term does, and knowledge of the structure is not what helps. Noise that is drawn
for each example cancels in the mean over the training set: what reaches W_Q and W_K is some twenty times smaller than the
gradient of the KL prior. Noise that all examples share (`drawn = "step"`) reaches them at full size, to within a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..randomness import Key
from ..settings import setting
from ..theory import kl_logit_gradient
from .base import Prior, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@priors.register("noise")
@dataclass(frozen=True, kw_only=True)
class Noise(Prior):
    """β · Σ_j ξ_j ℓ_j, where ξ is random and ‖ξ‖ = ‖α − α*‖, the size of the KL gradient (Eq. 45)."""

    drawn: Literal["example", "step"] = setting("example", since=3)
    """example: a random direction for each example and step; step: ξ_j = s_j (α_j − α*_j) with one random sign s_j per position and
    step, shared by all examples, so that the gradients on W_Q and W_K are also as large as those of the KL prior."""

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        assert out.attention is not None and out.attention_logits is not None
        gradient = kl_logit_gradient(out.attention.mean(1), target)
        if self.drawn == "step":
            xi = gradient * key.normal("noise prior", tuple(target.shape[-1:])).sign()
        else:
            draw = key.normal("noise prior", tuple(target.shape))
            xi = gradient.norm(dim=-1, keepdim=True) * draw / draw.norm(dim=-1, keepdim=True)
        return (xi.detach() * out.attention_logits.mean(1)).sum(-1).mean()
