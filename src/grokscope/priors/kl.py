"""The Bayesian ticket: KL(α*‖α) towards a target distribution over positions (structural inference, Thm 5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..randomness import Key, stream
from ..settings import require
from ..theory import adversarial_target, divergence, oracle_target, uniform_target
from .base import Prior, pooled_log_attention, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output
    from ..tasks import Examples, Task


@dataclass(frozen=True, kw_only=True)
class TargetKL(Prior):
    """β · KL(α*‖α), averaged over examples; α is averaged over heads. A subclass defines the target α*."""

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        return divergence(target, pooled_log_attention(out)).mean()

    def constant_gradient(self, target: Tensor) -> Tensor | None:
        """D = Σ α* log α* − Σ α* log α is linear in log α; a subclass may have another penalty."""
        return target / -target.shape[-2] if type(self).penalty is TargetKL.penalty else None


@priors.register("kl")
@dataclass(frozen=True, kw_only=True)
class KL(TargetKL):
    """β · KL(α*‖α), averaged over examples; α is averaged over heads."""

    target: Literal["oracle", "adversarial", "uniform", "random", "teacher"] = "oracle"
    """oracle: the informative positions; adversarial: the distractors; uniform; random: one draw; teacher: another run's."""
    teacher: str = ""
    """Id of the run whose attention is the target, for target = "teacher"."""

    HOST: ClassVar[tuple[str, ...]] = ("target", "teacher")

    def check(self) -> None:
        super().check()
        require(self.target != "teacher" or self.teacher != "", "teacher", 'target = "teacher" needs the id of a run')

    def check_task(self, task: Task) -> None:
        operands = getattr(task, "k", None)
        spare = task.shape.length - 1 - (operands or 0)
        require(
            self.target != "adversarial" or spare > 0, "target", "an adversarial target needs at least one distractor"
        )

    def target_for(self, examples: Examples, seed: int) -> Tensor:
        informative = examples.marked
        if self.target == "adversarial":
            return adversarial_target(informative)
        if self.target == "uniform":
            return uniform_target(informative)
        if self.target == "random":
            draw = torch.rand(informative.shape[-1], generator=stream(seed, "prior target"))
            return torch.softmax(4 * draw, -1).expand(informative.shape)
        return oracle_target(informative)
