"""Base class of priors: a penalty on one run's attention, and a schedule for its strength."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import torch

from ..randomness import Key
from ..registry import Registry
from ..settings import Settings, require
from ..shapes import Float
from ..theory import log_mean_attention, oracle_target

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output
    from ..tasks import Examples, Task

priors: Registry[type[Prior]] = Registry("prior", "grokscope.priors")

Schedule = Literal["constant", "anneal", "late", "pulse"]


@dataclass(frozen=True, kw_only=True)
class Prior(Settings):
    """Base of all priors: the loss is CE + β(t) · penalty."""

    beta: float = 0.0
    """Strength β; 0 trains without a prior."""
    schedule: Schedule = "constant"
    """constant; anneal: falls linearly to 0 at `span`; late: starts at `span`; pulse: ends at `span`."""
    span: float = 1000.0
    """Epoch at which an annealed or pulsed prior ends, or a late one starts."""

    LANES: ClassVar[tuple[str, ...]] = ("beta", "schedule", "span")
    needs_informative: ClassVar[bool] = True
    """Whether `target_for` reads the informative-token labels of the examples."""

    def check(self) -> None:
        require(self.beta >= 0, "beta", f"{self.beta} is below 0")
        require(self.span > 0, "span", f"{self.span} is not above 0")

    def check_task(self, task: Task) -> None:
        """Raise ConfigError if this prior does not apply to a task."""

    def weight(self, epoch: Tensor) -> Tensor:
        """β(t) at an epoch."""
        shapes = torch.stack(
            [
                torch.ones_like(epoch),
                torch.clamp(1 - epoch / self.span, min=0.0),
                (epoch >= self.span).to(epoch),
                (epoch < self.span).to(epoch),
            ]
        )
        chosen = get_args(Schedule).index(self.schedule) if isinstance(self.schedule, str) else self.schedule
        return self.beta * (shapes * (torch.arange(4, device=epoch.device) == chosen)).sum()

    def target_for(self, examples: Examples, seed: int) -> Float[Tensor, "example position"]:
        """The distribution this prior compares attention with; by default the oracle."""
        return oracle_target(examples.marked)

    def penalty(self, out: Output, target: Float[Tensor, "example position"], key: Key) -> Float[Tensor, ""]:
        """The penalty, which is multiplied by β and added to the loss."""
        raise NotImplementedError

    def constant_gradient(
        self, target: Float[Tensor, "... example position"]
    ) -> Float[Tensor, "... example position"] | None:
        """∂penalty/∂log α, averaged over heads, if it is the same for every α, and None if it is not. If it is known, training
        need not compute the penalty."""
        return None


def pooled_log_attention(out: Output) -> Float[Tensor, "example position"]:
    """log of the attention averaged over heads: heads satisfy the structural condition together (Conj. E.2)."""
    assert out.log_attention is not None
    return log_mean_attention(out.log_attention)
