"""What the rivals with stochastic gates on positions share: runs without a prior, whose support is where the gates are open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ...errors import ConfigError
from ...models.parts.attention.gates import Gated
from ...models.parts.attention.softmax import Softmax
from ...models.transformer import Transformer
from .base import Bout, Outcome, best_of

if TYPE_CHECKING:
    from ...run import StoredRun
    from ..candidates import Units

STRENGTHS = (0.001, 0.01, 0.1)
"""Strengths λ of the penalty on open gates that are tried."""
OPEN = 0.5
"""Gates above this are open, with k unknown."""


def compete_gated(bout: Bout, kinds: Sequence[Gated]) -> Outcome:
    """The best of several kinds of gated attention; the temperature is that of the run's own attention."""
    name, model = kinds[0].kind, bout.config.model
    if not isinstance(model, Transformer):
        raise ConfigError("rivals", f"{name} needs a transformer, not {model.kind}")
    if type(model.attention) is not Softmax:
        raise ConfigError("rivals", f"{name} needs softmax attention, not {model.attention.kind}")
    temperature = model.attention.temperature
    choices = {
        f"λ = {gated.strength:g}": replace(
            bout.config, model=replace(model, attention=replace(gated, temperature=temperature))
        )
        for gated in kinds
    }
    outcome, run = best_of(name, bout, choices)
    return outcome._replace(support=opened(run, bout.k))


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
