"""The Bayesian ticket: KL(α*‖α) towards a target distribution over positions (structural inference, Thm 5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..errors import ConfigError
from ..randomness import stream
from ..settings import require
from ..theory import adversarial_target, divergence, oracle_target, uniform_target
from .base import Key, Prior, pooled_log_attention, priors

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output
    from ..tasks import Examples


@priors.register("kl")
@dataclass(frozen=True, kw_only=True)
class KL(Prior):
    """β · KL(α*‖α), averaged over examples; α is averaged over heads."""

    target: Literal["oracle", "adversarial", "uniform", "random", "teacher"] = "oracle"
    """oracle: the informative positions; adversarial: the distractors; uniform: all; random: one fixed draw; teacher: another run's attention."""
    teacher: str = ""
    """Id of the run whose attention is the target, for target = "teacher"."""

    HOST: ClassVar[tuple[str, ...]] = ("target", "teacher")

    def check(self) -> None:
        super().check()
        require(self.target != "teacher" or self.teacher != "", "teacher", 'target = "teacher" needs the id of a run')

    def target_for(self, examples: Examples, seed: int) -> Tensor:
        informative = examples.informative
        if self.target == "adversarial":
            if bool((~informative).sum(-1).le(1).any()):
                raise ConfigError("prior.target", "an adversarial target needs at least one distractor (task.distractors)")
            return adversarial_target(informative)
        if self.target == "uniform":
            return uniform_target(informative)
        if self.target == "random":
            draw = torch.rand(informative.shape[-1], generator=stream(seed, "prior target"))
            return torch.softmax(4 * draw, -1).expand(informative.shape)
        return oracle_target(informative)

    def penalty(self, out: Output, target: Tensor, key: Key) -> Tensor:
        return divergence(target, pooled_log_attention(out)).mean()
