"""Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms", Algorithm 2): sign of a blend, decoupled decay.

Every weight moves by η at each step, so the paper advises an η 3 to 10 times below AdamW's and a decay as many times above.
The defaults of η and decay here are those of every optimizer of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..settings import require
from .base import Optimizer, State, optimizers

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Role
    from ..randomness import Key


@optimizers.register("lion")
@dataclass(frozen=True, kw_only=True)
class Lion(Optimizer):
    """W⁺ = (1 − η·wd) W − η sign(β₁ m + (1 − β₁) g);  m⁺ = β₂ m + (1 − β₂) g"""

    beta1: float = 0.9
    """β₁, share of the mean in the blend whose sign is the step."""
    beta2: float = 0.99
    """β₂, decay of the mean of gradients."""

    LANES: ClassVar[tuple[str, ...]] = (*Optimizer.LANES, "beta1", "beta2")

    def check(self) -> None:
        super().check()
        require(0 <= self.beta1 < 1, "beta1", f"{self.beta1} is outside [0, 1)")
        require(0 <= self.beta2 < 1, "beta2", f"{self.beta2} is outside [0, 1)")

    def init(self, weight: Tensor, role: Role) -> State:
        return {"mean": torch.zeros_like(weight)}

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        blend = self.beta1 * state["mean"] + (1 - self.beta1) * grad
        # torch.sign(NaN) is 0: a diverged run would silently continue to shrink instead of being detected.
        direction = torch.where(blend.isnan(), blend, blend.sign())
        weight = (1 - lr * self.weight_decay) * weight - lr * direction
        return weight, {"mean": self.beta2 * state["mean"] + (1 - self.beta2) * grad}
