"""The entropy prior: few tokens matter, but not which (structural inference, App. F)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...priors.entropy import Entropy
from .base import Bout, Outcome, Rival, best_of, rivals


@rivals.register("entropy")
@dataclass(frozen=True, kw_only=True)
class EntropyPrior(Rival):
    """Runs with β · H(α)."""

    betas: tuple[float, ...] = (0.01, 0.1, 1.0)

    def compete(self, bout: Bout) -> Outcome:
        choices = {f"β = {beta:g}": replace(bout.config, prior=Entropy(beta=beta)) for beta in self.betas}
        return best_of("entropy", bout, choices)[0]
