"""SGD with L2 and momentum, as torch.optim.SGD with no dampening and no Nesterov look-ahead.

The decay is part of the gradient, so momentum smooths it too; without momentum it equals decoupled decay.
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


@optimizers.register("sgd")
@dataclass(frozen=True, kw_only=True)
class SGD(Optimizer):
    """m⁺ = μ m + (g + wd W);  W⁺ = W − η m⁺"""

    momentum: float = 0.0
    """μ, how much of the last step is kept; 0 is plain gradient descent."""

    LANES: ClassVar[tuple[str, ...]] = (*Optimizer.LANES, "momentum")

    def check(self) -> None:
        super().check()
        require(0 <= self.momentum < 1, "momentum", f"{self.momentum} is outside [0, 1)")

    def init(self, weight: Tensor, role: Role) -> State:
        return {"momentum": torch.zeros_like(weight)}

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        momentum = self.momentum * state["momentum"] + (grad + self.weight_decay * weight)
        return weight - lr * momentum, {"momentum": momentum}
