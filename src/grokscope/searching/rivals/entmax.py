"""Sparse attention: entmax with α = 1.5 in place of softmax."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...errors import ConfigError
from ...models.parts.attention.entmax import Entmax
from ...models.transformer import Transformer
from .base import Bout, Outcome, Rival, outcome_of, rivals, trained


@rivals.register("entmax")
@dataclass(frozen=True, kw_only=True)
class EntmaxAttention(Rival):
    """One run without a prior whose attention is exactly 0 at most tokens."""

    def compete(self, bout: Bout) -> Outcome:
        model = bout.config.model
        if not isinstance(model, Transformer):
            raise ConfigError("rivals", f"entmax needs a transformer, not {model.kind}")
        config = replace(bout.config, model=replace(model, attention=Entmax()), epochs=bout.epochs)
        (run,) = trained(bout, [config], "entmax")
        return outcome_of("entmax", bout, run)
