"""Larger weight decay, the simplest accelerator of grokking."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...settings import require
from .base import Bout, Outcome, Rival, outcome_of, rivals, trained


@rivals.register("weight-decay")
@dataclass(frozen=True, kw_only=True)
class WeightDecay(Rival):
    """One run without a prior, with `factor` times the weight decay."""

    factor: float = 3.0

    def check(self) -> None:
        require(self.factor > 0, "factor", f"{self.factor:g} is not above 0")

    def compete(self, bout: Bout) -> Outcome:
        optim = bout.config.optim
        more = replace(optim, weight_decay=self.factor * optim.weight_decay)
        (run,) = trained(bout, [replace(bout.config, optim=more, epochs=bout.epochs)], "weight decay")
        return outcome_of("weight-decay", bout, run, note=f"weight decay {more.weight_decay:g}")
