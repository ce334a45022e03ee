"""Distillation from a run that failed: half of the budget for a plain run, half for one that follows its attention."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...priors.kl import KL
from .base import Bout, Outcome, Rival, outcome_of, rivals, trained


@rivals.register("teacher")
@dataclass(frozen=True, kw_only=True)
class Teacher(Rival):
    """A KL prior towards the attention that a plain run has learned."""

    beta: float = 1.0

    def compete(self, bout: Bout) -> Outcome:
        half = max(1, bout.epochs // 2)
        (teacher,) = trained(bout, [replace(bout.config, epochs=half)], "teacher")
        if teacher.diverged:
            return outcome_of("teacher", bout, teacher)
        prior = KL(beta=self.beta, target="teacher", teacher=teacher.id)
        (pupil,) = trained(bout, [replace(bout.config, prior=prior, epochs=half)], "pupil of a teacher")
        spent = teacher.info.epoch * bout.config.steps_per_epoch
        return outcome_of("teacher", bout, pupil, before=spent)
