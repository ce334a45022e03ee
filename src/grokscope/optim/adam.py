"""Adam (Kingma & Ba 2015) with L2 in the gradient, as torch.optim.Adam with weight_decay; Grokfast's authors train with it.

On the plateau, where gradients are small, the L2 term is most of the gradient and Adam rescales it: the same number decays weights
far more strongly than in AdamW.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .adamw import AdamW
from .base import State, optimizers

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Role
    from ..randomness import Key


@optimizers.register("adam")
@dataclass(frozen=True, kw_only=True)
class Adam(AdamW):
    """W⁺ = W − η m̂ / (√v̂ + ε), with the moments of g + wd W"""

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        plain = replace(self, weight_decay=0.0)
        return AdamW.update(
            plain, weight, grad + self.weight_decay * weight, state, role=role, step=step, lr=lr, key=key
        )
