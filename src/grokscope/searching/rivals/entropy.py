"""The entropy prior: few tokens matter, but not which (structural inference, App. F)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...priors.entropy import Entropy
from .base import Bout, Outcome, Rival, outcome_of, rivals, trained


@rivals.register("entropy")
@dataclass(frozen=True, kw_only=True)
class EntropyPrior(Rival):
    """One run with β · H(α)."""

    beta: float = 0.1

    def compete(self, bout: Bout) -> Outcome:
        config = replace(bout.config, prior=Entropy(beta=self.beta), epochs=bout.epochs)
        (run,) = trained(bout, [config], "entropy")
        return outcome_of("entropy", bout, run, note=f"β = {self.beta:g}")
