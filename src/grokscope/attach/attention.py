"""Attention of one forward pass at the queries: layers and heads as chosen, one example per query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ..errors import ConfigError, nearest
from ..shapes import Bool, Float
from .sights import Sight, log_attention
from .tokens import Queries, Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from .passes import Pass


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which layers and heads count."""

    layers: Any = None
    """Numbers in the order of the calls, negative ones from the end, or names of modules; None for all."""
    heads: Any = None
    """Numbers; None for all."""

    def chosen(self, sights: Sequence[Sight]) -> list[Sight]:
        if self.layers is None:
            return list(sights)
        wanted = [self.layers] if isinstance(self.layers, (int, str)) else list(self.layers)
        found = [sight for one in wanted for sight in self._named(one, sights)]
        if not found:
            raise ConfigError("layers", "no layer is chosen")
        return found

    def _named(self, one: Any, sights: Sequence[Sight]) -> list[Sight]:
        if isinstance(one, int):
            if not -len(sights) <= one < len(sights):
                raise ConfigError("layers", f"{one} is outside the {len(sights)} layers with attention")
            return [sights[one]]
        own = [sight for sight in sights if sight.layer == one or sight.layer.endswith(f".{one}")]
        if not own:
            hint = nearest(str(one), {sight.layer for sight in sights})
            raise ConfigError("layers", f"no layer with attention is called {one!r}. {hint}")
        return own

    def of_heads(self, tensor: Float[Tensor, "batch head query position"]) -> Tensor:
        if self.heads is None:
            return tensor
        wanted = [self.heads] if isinstance(self.heads, int) else list(self.heads)
        count = tensor.shape[1]
        if not wanted or any(not -count <= head < count for head in wanted):
            raise ConfigError("heads", f"{self.heads} is outside the {count} heads of a layer")
        return tensor[:, wanted]


@dataclass(frozen=True, kw_only=True)
class Attention:
    """What was seen. The heads of all layers stand side by side."""

    log: Float[Tensor, "example head position"]
    """log α; finite, and very low where masked."""
    scores: Float[Tensor, "example head position"]
    """Attention logits; −∞ or very low where masked."""
    hidden: Bool[Tensor, "example head position"]
    """Which positions are masked."""
    informative: Bool[Tensor, "example position"] | None
    layers: list[tuple[str, int]]
    """Name and number of heads of each layer."""
    sequences: int
    """Sequences in the batch."""
    queries: Queries
    last: Sight
    """The last layer."""
    choice: Choice

    def last_gradient(self) -> Float[Tensor, "batch head query position"] | None:
        """∂loss/∂ℓ of the last layer; None without a backward pass."""
        found = self.last.score_gradient(self.queries.rows)
        return None if found is None else self.choice.of_heads(found)


def read_attention(seen: Pass, tokens: Tokens, choice: Choice) -> Attention:
    """The attention of a pass; with a gradient if gradients are enabled and the pass had them."""
    sights = choice.chosen(seen.used)
    sizes = {(sight.shape[0], sight.shape[2], sight.shape[3]) for sight in sights}
    if len(sizes) > 1:
        shown = "; ".join(f"{s.layer}: batch {s.shape[0]}, {s.shape[3]} positions" for s in sights[:4])
        raise ConfigError("layers", f"attention of different shapes cannot be averaged ({shown}); choose with layers=")
    batch, asking, length = sizes.pop()
    queries = tokens.queries(seen, batch, asking)
    informative = tokens.mask(seen, queries, batch, length)
    parts, layers = [], []
    for sight in sights:
        scores = choice.of_heads(sight.scores(queries.rows))
        parts.append(queries.flat(scores.transpose(1, 2)))
        layers.append((sight.layer, scores.shape[1]))
    scores = torch.cat(parts, 1)
    log, hidden = log_attention(scores)
    if informative is not None:
        _check_visible(informative, hidden)
    return Attention(
        log=log,
        scores=scores,
        hidden=hidden,
        informative=informative,
        layers=layers,
        sequences=batch,
        queries=queries,
        last=sights[-1],
        choice=choice,
    )


def _check_visible(informative: Tensor, hidden: Tensor) -> None:
    unseen = informative & hidden.all(1)
    if bool(unseen.any()):
        example, position = unseen.nonzero()[0].tolist()
        raise ConfigError(
            "informative", f"position {position} is hidden from query {example} of the batch by the attention mask"
        )
