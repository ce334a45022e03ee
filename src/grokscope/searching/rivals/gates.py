"""What the rivals with stochastic gates on positions share: runs without a prior, whose support is where the gates are open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from ...errors import ConfigError
from ...models.parts.attention.gates import Gated
from ...models.parts.attention.softmax import Softmax
from ...models.transformer import Transformer
from .base import Bout, Outcome, Rival, best_of

if TYPE_CHECKING:
    from ...config import RunConfig
    from ...run import StoredRun
    from ..candidates import Units

OPEN = 0.5
"""Gates above this are open, with k unknown."""


@dataclass(frozen=True, kw_only=True)
class GatedRival(Rival):
    """Base of rivals whose attention has gates; a subclass defines `attention`."""

    strengths: tuple[float, ...] = (0.001, 0.01, 0.1)
    """Strengths λ of the penalty on open gates that are tried."""

    def attention(self, strength: float) -> Gated:
        """The attention with this λ."""
        raise NotImplementedError

    def check_config(self, config: RunConfig) -> None:
        for choice in self._choices(config).values():
            choice.check()

    def compete(self, bout: Bout) -> Outcome:
        outcome, run = best_of(self.kind, bout, self._choices(bout.config))
        return outcome._replace(support=opened(run, bout.k))

    def _choices(self, config: RunConfig) -> dict[str, RunConfig]:
        """A configuration for each λ; the temperature is that of the run's own attention."""
        model = config.model
        if not isinstance(model, Transformer):
            raise ConfigError("rivals", f"{self.kind} needs a transformer, not {model.kind}")
        if type(model.attention) is not Softmax:
            raise ConfigError("rivals", f"{self.kind} needs softmax attention, not {model.attention.kind}")
        temperature = model.attention.temperature
        kinds = {s: replace(self.attention(s), temperature=temperature) for s in self.strengths}
        return {f"λ = {s:g}": replace(config, model=replace(model, attention=own)) for s, own in kinds.items()}


def opened(run: StoredRun, k: int | None) -> Units | None:
    """The k positions with the largest gates; with k unknown, those with open gates. None if there are none, or if it diverged."""
    if run.diverged:
        return None
    weights = run.network().weights.items()
    layers = torch.stack([weight for name, weight in weights if name.partition(".")[0] == "gate"])
    gates = layers.amax(0)[1 - run.config.task.shape.length :]
    if k is None:
        model = run.config.model
        assert isinstance(model, Transformer) and isinstance(model.attention, Gated)
        return tuple((model.attention.middle(gates) > OPEN).nonzero().flatten().tolist()) or None
    # by their parameters, since all closed gates are 0
    return tuple(sorted(gates.topk(min(k, len(gates))).indices.tolist()))
