"""Plain training: no prior, the whole budget in one run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .base import Bout, Outcome, Rival, outcome_of, rivals, trained


@rivals.register("plain")
@dataclass(frozen=True, kw_only=True)
class Plain(Rival):
    """One run without a prior."""

    def compete(self, bout: Bout) -> Outcome:
        (run,) = trained(bout, [replace(bout.config, epochs=bout.epochs)], "plain")
        return outcome_of("plain", bout, run)
