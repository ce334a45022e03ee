"""Larger weight decay, the simplest accelerator of grokking."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...settings import require
from .base import Bout, Outcome, Rival, best_of, rivals


@rivals.register("weight-decay")
@dataclass(frozen=True, kw_only=True)
class WeightDecay(Rival):
    """Runs without a prior, with so many times the weight decay."""

    factors: tuple[float, ...] = (2.0, 4.0, 8.0)

    def check(self) -> None:
        require(min(self.factors) > 0, "factors", f"{min(self.factors):g} is not above 0")

    def compete(self, bout: Bout) -> Outcome:
        decays = [factor * bout.config.optim.weight_decay for factor in self.factors]
        choices = {
            f"weight decay {decay:g}": replace(bout.config, optim=replace(bout.config.optim, weight_decay=decay))
            for decay in decays
        }
        return best_of("weight-decay", bout, choices)[0]
