"""Base class of attention: logits from queries and keys, and a distribution over positions from the logits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....ops.short import scores
from ....registry import Registry
from ....shapes import Bool, Float
from ..base import Part, in_full

if TYPE_CHECKING:
    from torch import Tensor

    from ....randomness import Key

attentions: Registry[type[Attention]] = Registry("attention", "grokscope.models.parts.attention")

TINY = 1e-9
"""Keeps log α finite where α vanishes."""


@dataclass(frozen=True, kw_only=True)
class Attention(Part):
    """Base of all kinds of attention; a subclass must define `normalise` only. Count axes from the end."""

    def logits(
        self,
        q: Float[Tensor, "... head query width"],
        k: Float[Tensor, "... head position width"],
        weights: dict[str, Tensor],
    ) -> Float[Tensor, "... head query position"]:
        """ℓ_j = q · k_j / √width. `weights` contains the parameters of the part, if it has any."""
        return in_full(scores(q, k)) / math.sqrt(q.shape[-1])

    def normalise(
        self, logits: Float[Tensor, "... position"], hidden: Bool[Tensor, "... position"] | None
    ) -> tuple[Float[Tensor, "... position"], Float[Tensor, "... position"]]:
        """log α and α. α sums to 1 over the positions; log α is finite everywhere.

        hidden   mask of positions that get no attention because they come later; None if all are visible
        """
        raise NotImplementedError

    def log_gates(
        self,
        weights: dict[str, Tensor],
        examples: int,
        positions: int,
        *,
        training: bool = False,
        key: Key | None = None,
        layer: int = 0,
    ) -> Float[Tensor, "example position"] | None:
        """Added to the logits of every query and head, such as the log of a gate on each position; None if nothing is added.

        examples, positions   of the batch; an answer [1 position] is the same for all examples
        training, key         as in `Model.forward`
        layer                 number of the layer, for draws of its own
        """
        return None

    def penalty(self, weights: dict[str, Tensor]) -> Float[Tensor, ""] | None:
        """Added to the loss of a training step, for each layer; None if nothing is added."""
        return None

    def sensitivity(
        self, attention: Float[Tensor, "... position"], logits: Float[Tensor, "... position"]
    ) -> Float[Tensor, "... position"] | None:
        """s_j in ∂h/∂ℓ_j = s_j (v_j − h), with h = Σ_j α_j v_j.

        For α_j ∝ f(ℓ_j) it is f′(ℓ_j) / Σ_i f(ℓ_i). None if there is no such s; the bound of Lemma 5.1 is then not logged.
        """
        return None

    def weigh(
        self, logits: Tensor, hidden: Tensor | None = None, frozen: Float[Tensor, "... position"] | None = None
    ) -> tuple[Tensor, Tensor]:
        """log α and α: `normalise`, or the `frozen` weights, of every head or the same in all heads."""
        if frozen is None:
            return self.normalise(logits, hidden)
        attention = (frozen if frozen.ndim == logits.ndim else frozen.unsqueeze(-2)).expand_as(logits)
        return attention.clamp_min(TINY).log(), attention
