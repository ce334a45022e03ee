"""What the rivals with stochastic gates on positions share: one run without a prior, whose support is where the gates are open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ...errors import ConfigError
from ...models.parts.attention.softmax import Softmax
from ...models.transformer import Transformer
from .base import Bout, Outcome, outcome_of, trained

if TYPE_CHECKING:
    from ...models.parts.attention.gates import Gated
    from ...run import StoredRun
    from ..candidates import Units

OPEN = 0.5
"""Gates above this are open, with k unknown."""


def compete_gated(bout: Bout, attention: Gated) -> Outcome:
    """The outcome of a run with gated attention; the temperature is that of the run's own attention."""
    name, model = attention.kind, bout.config.model
    if not isinstance(model, Transformer):
        raise ConfigError("rivals", f"{name} needs a transformer, not {model.kind}")
    if type(model.attention) is not Softmax:
        raise ConfigError("rivals", f"{name} needs softmax attention, not {model.attention.kind}")
    gated = replace(attention, temperature=model.attention.temperature)
    config = replace(bout.config, model=replace(model, attention=gated), epochs=bout.epochs)
    (run,) = trained(bout, [config], name)
    note = "diverged" if run.diverged else f"λ = {attention.strength:g}"
    return outcome_of(name, bout, run, note=note)._replace(support=opened(run, gated, bout.k))


def opened(run: StoredRun, attention: Gated, k: int | None) -> Units | None:
    """The k positions with the largest gates; with k unknown, those with open gates. None if there are none, or if it diverged."""
    if run.diverged:
        return None
    weights = run.network().weights.items()
    layers = torch.stack([weight for name, weight in weights if name.partition(".")[0] == "gate"])
    gates = layers.amax(0)[1 - run.config.task.shape.length :]
    if k is None:
        return tuple((attention.middle(gates) > OPEN).nonzero().flatten().tolist()) or None
    # by their parameters, since all closed gates are 0
    return tuple(sorted(gates.topk(min(k, len(gates))).indices.tolist()))
