"""Sparse attention: entmax with α = 1.5 in place of softmax."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...models.parts.attention.entmax import Entmax
from ...models.transformer import Transformer
from .base import Bout, Outcome, Rival, outcome_of, rivals, trained

if TYPE_CHECKING:
    from ...config import RunConfig


@rivals.register("entmax")
@dataclass(frozen=True, kw_only=True)
class EntmaxAttention(Rival):
    """One run without a prior whose attention is exactly 0 at most tokens."""

    def check_config(self, config: RunConfig) -> None:
        _with_entmax(config).check()

    def compete(self, bout: Bout) -> Outcome:
        (run,) = trained(bout, [replace(_with_entmax(bout.config), epochs=bout.epochs)], "entmax")
        return outcome_of("entmax", bout, run)


def _with_entmax(config: RunConfig) -> RunConfig:
    if not isinstance(config.model, Transformer):
        raise ConfigError("rivals", f"entmax needs a transformer, not {config.model.kind}")
    return replace(config, model=replace(config.model, attention=Entmax()))
