"""Base class of optimizers: a pure update of one run's weights, and the common learning-rate schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..registry import Registry
from ..settings import Settings, require

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Role
    from ..randomness import Key

optimizers: Registry[type[Optimizer]] = Registry("optim", "grokscope.optim")

State = dict[str, "Tensor"]


@dataclass(frozen=True, kw_only=True)
class Optimizer(Settings):
    """Base of all optimizers. Numbers that may differ between lanes arrive as scalar tensors."""

    lr: float = 1e-3
    """Learning rate η after warm-up."""
    weight_decay: float = 1.0
    """The hyperparameter wd; the effective decay per step is λ = η·wd."""
    warmup: float = 10.0
    """Epochs of linear warm-up."""
    clip: float = 1.0
    """Maximum norm of the whole gradient of a run; 0 disables clipping."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Learning rate after warm-up: constant, or a half cosine down to 0 at the last epoch."""

    LANES: ClassVar[tuple[str, ...]] = ("lr", "weight_decay", "warmup", "clip")
    elementwise: ClassVar[bool] = True
    """If True, every weight is updated independently, so the fleet may pass all weights of a run as one vector."""

    def check(self) -> None:
        require(self.lr > 0, "lr", f"{self.lr} is not above 0")
        require(self.weight_decay >= 0, "weight_decay", f"{self.weight_decay} is below 0")
        require(self.warmup >= 0, "warmup", f"{self.warmup} is below 0")
        require(self.clip >= 0, "clip", f"{self.clip} is below 0")

    @property
    def depends_on_epochs(self) -> bool:
        """True for every schedule but the constant one; an optimizer with its own `rate` overrides this if it ignores
        `epochs`."""
        own_rate = type(self).rate is not Optimizer.rate
        return own_rate or self.schedule != "constant" or super().depends_on_epochs

    def rate(self, epoch: Tensor, epochs: Tensor) -> Tensor:
        """η at `epoch`, counted from 1 at the end of the first epoch; `epochs` is the run's last."""
        warm = torch.clamp(epoch / torch.clamp(torch.as_tensor(self.warmup), min=1e-9), max=1.0)
        if self.schedule == "cosine":
            warm = warm * 0.5 * (1 + torch.cos(torch.pi * torch.clamp(epoch / epochs, max=1.0)))
        return self.lr * warm

    def init(self, weight: Tensor, role: Role) -> State:
        """The state before the first step: tensors shaped like `weight`."""
        raise NotImplementedError

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        """New weight and state. `step` counts from 1; `lr` is the scheduled rate; `key` is the source of randomness."""
        raise NotImplementedError
