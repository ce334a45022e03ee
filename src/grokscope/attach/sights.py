"""One attention call of somebody else's network: its logits at chosen queries, and the gradient that reached them.

Nothing is computed until it is asked for. A sight keeps references to tensors that the forward pass made anyway, so a pass whose
attention nobody asks about costs nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch

from ..shapes import Bool, Float, Int

if TYPE_CHECKING:
    from torch import Tensor

NEGLIGIBLE = 1e4
"""A logit that lies this far below the largest one of its row is masked: its weight is 0 in every number format."""
HIDDEN = -1e30
"""log α of a masked position: finite, so that 0 · log α is 0, and exp of it is 0."""


class Sight(ABC):
    """Attention of one layer in one forward pass."""

    def __init__(self, layer: str, reads: tuple[Tensor, Tensor] | None = None):
        """
        layer   name of the module that called attention
        reads   what queries and keys are made from, [batch query d] and [batch position d]; None if that is not known
        """
        self.layer = layer
        self.reads = reads
        self.projections: list[Tensor] = []
        """Weights of the projections before and after attention, as far as they were seen."""
        self.scale: float | None = None
        """Factor of the product of query and key in the logits; None if that is not known."""
        self._kept: list[Tensor] = []
        self.no_gradient = ""
        """Why the gradient on the logits cannot be known, in words."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int, int]:
        """batch, heads, queries, positions"""

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @abstractmethod
    def scores(self, rows: Int[Tensor, "batch query"]) -> Float[Tensor, "batch head query position"]:
        """Attention logits of the queries in `rows`, in float32 or more; −∞ or very low where masked."""

    @abstractmethod
    def score_gradient(self, rows: Int[Tensor, "batch query"]) -> Float[Tensor, "batch head query position"] | None:
        """∂loss/∂ℓ at these queries, from the gradient that was kept; None if there was no backward pass."""

    def keep_gradient(self, of: Tensor) -> None:
        """Keep the gradient that the following backward passes bring to `of`: the output, the logits or the weights."""
        if of.requires_grad and not self.no_gradient:
            kept = self._kept  # a hook that refers to the sight itself would keep all of its tensors alive

            def keep(gradient: Tensor) -> None:
                kept.append(gradient.detach())

            of.register_hook(keep)

    @property
    def gradient_arrived(self) -> bool:
        return bool(self._kept)

    @property
    def gradient(self) -> Tensor | None:
        """The sum of the gradients that were kept."""
        return torch.stack(self._kept).sum(0) if self._kept else None


class ProductSight(Sight):
    """Attention computed by a kernel that hands out no weights: logits are recomputed for the queries that are asked for."""

    def __init__(
        self,
        layer: str,
        query: Float[Tensor, "batch head query width"],
        key: Float[Tensor, "batch keyhead position width"],
        value: Float[Tensor, "batch keyhead position out"],
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
        reads: tuple[Tensor, Tensor] | None = None,
    ):
        super().__init__(layer, reads)
        self.query, self.key, self.value = query, key, value
        self.mask, self.causal = mask, causal
        self.factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        self.scale = self.factor
        if dropout:
            self.no_gradient = "attention dropout is on"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        batch, heads, queries, _ = self.query.shape
        return batch, heads, queries, self.key.shape[2]

    @property
    def device(self) -> torch.device:
        return self.query.device

    def scores(self, rows: Tensor) -> Tensor:
        query = _wide(_rows(self.query, rows))
        with torch.autocast(query.device.type, enabled=False):
            scores = query @ _wide(self._for_heads(self.key)).mT * self.factor
        if self.causal:
            hidden = torch.arange(self.shape[3], device=rows.device) > rows.unsqueeze(-1)
            scores = scores.masked_fill(hidden.unsqueeze(1), -math.inf)
        if self.mask is not None:
            mask = _rows(self.mask.expand(self.shape), rows)
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.to(scores)
        return scores

    def score_gradient(self, rows: Tensor) -> Tensor | None:
        """α_j (v_j − h) · ∂loss/∂h: the chain rule through h = Σ_j α_j v_j, exact without dropout."""
        if (gradient := self.gradient) is None:
            return None
        with torch.no_grad():
            attention = _softmax(self.scores(rows))
            onto_values = (
                _wide(_rows(gradient.reshape(*self.query.shape[:3], -1), rows)) @ _wide(self._for_heads(self.value)).mT
            )
            return attention * (onto_values - (attention * onto_values).sum(-1, keepdim=True))

    def output(self) -> Float[Tensor, "batch head query out"]:
        """Σ_j α_j v_j of every query, without dropout."""
        batch, _, queries, _ = self.shape
        rows = torch.arange(queries, device=self.device).expand(batch, -1)
        return (_softmax(self.scores(rows)) @ _wide(self.values)).to(self.value.dtype)

    @property
    def values(self) -> Tensor:
        """One value per head and position."""
        return self._for_heads(self.value)

    def _for_heads(self, tensor: Tensor) -> Tensor:
        """Keys and values that several heads share, one per head."""
        groups = self.query.shape[1] // tensor.shape[1]
        return tensor if groups == 1 else tensor.repeat_interleave(groups, 1)


class ScoreSight(Sight):
    """Attention whose logits are a tensor of the network itself."""

    def __init__(
        self,
        layer: str,
        scores: Float[Tensor, "batch head query position"],
        *,
        scale: float | None = None,
        reads: tuple[Tensor, Tensor] | None = None,
        one_row: bool = False,
    ):
        """one_row   the logits are those of the query alone, whichever position that is"""
        super().__init__(layer, reads)
        self.all_scores = scores
        self.one_row = one_row
        self.scale = scale

    @property
    def shape(self) -> tuple[int, int, int, int]:
        batch, heads, queries, positions = self.all_scores.shape
        return batch, heads, positions if self.one_row else queries, positions

    @property
    def device(self) -> torch.device:
        return self.all_scores.device

    def scores(self, rows: Tensor) -> Tensor:
        return _wide(self._at(self.all_scores, rows))

    def score_gradient(self, rows: Tensor) -> Tensor | None:
        gradient = self.gradient
        return None if gradient is None else _wide(self._at(gradient, rows))

    def _at(self, tensor: Tensor, rows: Tensor) -> Tensor:
        tensor = tensor.reshape(self.all_scores.shape)  # a network may have batch and heads in one axis
        return tensor if self.one_row else _rows(tensor, rows)


class WeightSight(Sight):
    """Attention of which only the weights α are known."""

    def __init__(
        self,
        layer: str,
        weights: Float[Tensor, "batch head query position"],
        *,
        scale: float | None = None,
        reads: tuple[Tensor, Tensor] | None = None,
    ):
        super().__init__(layer, reads)
        self.weights = weights
        self.scale = scale

    @property
    def shape(self) -> tuple[int, int, int, int]:
        batch, heads, queries, positions = self.weights.shape
        return batch, heads, queries, positions

    @property
    def device(self) -> torch.device:
        return self.weights.device

    def scores(self, rows: Tensor) -> Tensor:
        """log α: softmax does not see the constant that is missing."""
        weights = _wide(_rows(self.weights, rows))
        known = weights > 0
        return torch.where(known, torch.log(torch.where(known, weights, 1.0)), -math.inf)

    def score_gradient(self, rows: Tensor) -> Tensor | None:
        if (kept := self.gradient) is None:
            return None
        with torch.no_grad():
            weights, gradient = _wide(_rows(self.weights, rows)), _wide(_rows(kept, rows))
            return weights * (gradient - (weights * gradient).sum(-1, keepdim=True))


def log_attention(scores: Float[Tensor, "... position"]) -> tuple[Float[Tensor, "... position"], Bool[Tensor, "..."]]:
    """log α with finite values everywhere, and which positions are masked."""
    hidden = scores < scores.amax(-1, keepdim=True) - NEGLIGIBLE
    # the gradient of a masked position must be 0, not NaN: it leaves the softmax before, not after
    log = torch.log_softmax(scores.masked_fill(hidden, -math.inf), -1)
    return log.masked_fill(hidden, HIDDEN), hidden


def _softmax(scores: Tensor) -> Tensor:
    log, _ = log_attention(scores)
    return log.exp()


def _rows(tensor: Float[Tensor, "batch head query last"], rows: Int[Tensor, "batch query"]) -> Tensor:
    """The queries in `rows` of a tensor."""
    batch, heads, _, last = tensor.shape
    return tensor.gather(2, rows[:, None, :, None].expand(batch, heads, -1, last))


def _wide(tensor: Tensor) -> Tensor:
    """In float32 or more."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()
