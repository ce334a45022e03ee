"""Weight decay, learning rate, prior or data, switched in mid-run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import require
from .base import Now, Rates, Timed, interventions

if TYPE_CHECKING:
    from ..config import RunConfig


@interventions.register("switch")
@dataclass(frozen=True, kw_only=True)
class Switch(Timed):
    """One of the run's rates is multiplied by `strength` in the window, and by `outside` elsewhere."""

    of: Literal["weight_decay", "lr", "prior", "data"] = "weight_decay"
    """The weight decay, the learning rate, the strength of the prior, or the task loss (data)."""
    strength: float = 0.0
    """Factor in the window; 0 switches it off."""
    outside: float = 1.0
    """Factor outside the window; with strength = 1 and outside = 0 it is on in the window only."""

    LANES: ClassVar[tuple[str, ...]] = (*Timed.LANES, "strength", "outside")

    def check(self) -> None:
        super().check()
        for name in ("strength", "outside"):
            require(getattr(self, name) >= 0, name, f"{getattr(self, name)} is below 0")

    def check_run(self, config: RunConfig) -> None:
        require(self.of != "prior" or config.prior.beta > 0, "of", "there is no prior to switch: prior.beta is 0")
        decays = self.of != "weight_decay" or config.optim.weight_decay > 0
        require(decays, "of", "there is no weight decay to switch: optim.weight_decay is 0")

    @property
    def scales_task_loss(self) -> bool:
        return self.of == "data"

    def rates(self, rates: Rates, now: Now) -> Rates:
        number = getattr(rates, self.of)
        inside, outside = (torch.as_tensor(x, device=number.device) for x in (self.strength, self.outside))
        factor = torch.where(self.active(now), inside, outside)
        return rates._replace(**{self.of: number * factor.to(number)})
