"""The optimizer forgets: its state, and with Adam the number of steps that corrects its means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..settings import require
from .base import Intervention, Now, interventions

if TYPE_CHECKING:
    from torch import Tensor


@interventions.register("reset")
@dataclass(frozen=True, kw_only=True)
class Reset(Intervention):
    """The state of optimizer and filter is set to zero, and the optimizer counts its steps from there; no new warm-up."""

    start: int = 0
    """Epoch of the reset, counted from the branch."""

    LANES: ClassVar[tuple[str, ...]] = ("start",)

    def check(self) -> None:
        require(self.start >= 0, "start", f"{self.start} is below 0")

    def starts(self) -> dict[str, int]:
        return {"start": self.start}

    def state(self, tensor: Tensor, now: Now) -> Tensor:
        return torch.where(now.step == self.start * now.per_epoch, torch.zeros_like(tensor), tensor)

    def age(self, step: Tensor, now: Now) -> Tensor:
        since = now.step - self.start * now.per_epoch
        return torch.where(since >= 0, since, step).to(step.dtype)
