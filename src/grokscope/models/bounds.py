"""The quantities of Lemma 5.1 (structural inference) for a transformer, from its weights and one forward pass."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ..ops.lookup import Plan, read_sums
from ..shapes import Float
from ..theory import spectral_norm
from .base import Neurons, Output
from .parts import FeedForward, Readout
from .parts.base import in_full, times
from .parts.norm.placement import PATHS, SITES
from .tables import Tables

if TYPE_CHECKING:
    from torch import Tensor


_HIDDEN = FeedForward.hidden


class Bounded(Tables):
    """A transformer with bounds on how fast its answers change, and gradients that need no autograd."""

    d: int
    layers: int
    mlp: FeedForward
    readout: Readout
    readout_scale: float

    def lipschitz(self, weights: dict[str, Tensor]) -> Tensor:
        """A norm before the MLP multiplies W_in by the largest slope that it can have."""
        return self._lipschitz(weights, self.norm_kind.steepest())

    def local_lipschitz(self, weights: dict[str, Tensor], out: Output) -> Tensor:
        """With the largest slope of the norm on the inputs that the MLP was given."""
        if "mlp" not in PATHS[self.norm]:
            return self.lipschitz(weights)
        assert out.pooled is not None
        query = out.stream[:, -1] if out.stream is not None else self._query(weights)
        x = self._joined(query, in_full(out.pooled).flatten(1), layer_weights(weights, self.layers - 1))
        return self._lipschitz(weights, self.norm_kind.slope(x).amax())

    def _lipschitz(self, weights: dict[str, Tensor], slope: float | Tensor) -> Tensor:
        """`slope` bounds how fast the normalised MLP input changes with the MLP input."""
        own = layer_weights(weights, self.layers - 1)
        W_in, W_out = self.mlp.factors(own)
        if "mlp" in PATHS[self.norm]:
            W_in = slope * (own["gain_mlp"].unsqueeze(-1) * W_in if self.norm_kind.affine else W_in)
        bound = self.readout.lipschitz(W_in, W_out, own)
        if self._mixes_heads:
            bound = bound * spectral_norm(own["W_O"])
        return self.readout_scale * bound

    def interaction_gradient(self, weights: dict[str, Tensor], plan: Plan, out: Output, gradient: Tensor) -> Tensor:
        """M acts on what queries and keys read."""
        if out.stream is not None:
            own = layer_weights(weights, self.layers - 1)
            read = out.replace(stream=self._attention_reads(out.stream, own)[0])
            return super().interaction_gradient(weights, plan, read, gradient)
        rows = self._attention_reads(self._rows(weights, plan), weights)[0]
        key_sum = read_sums(gradient.mT, plan).mT @ rows  # head, d
        return torch.einsum("q,hd->hqd", rows[-1], key_sum) / math.sqrt(self.d // self.heads)

    def embedding_norm(self, weights: dict[str, Tensor], plan: Plan, out: Output) -> Tensor:
        """W_V acts on what values read."""
        if out.stream is not None:
            own = layer_weights(weights, self.layers - 1)
            read = out.replace(stream=self._attention_reads(out.stream, own)[1])
            return super().embedding_norm(weights, plan, read)
        rows = self._attention_reads(self._rows(weights, plan), weights)[1]
        return (rows.norm(dim=-1) * plan.is_read).amax()

    def sensitivity(self, out: Output) -> Tensor | None:
        assert out.attention is not None and out.attention_logits is not None
        return self.attention.sensitivity(out.attention, out.attention_logits)

    def value_norm(self, weights: dict[str, Tensor]) -> Tensor:
        return spectral_norm(layer_weights(weights, self.layers - 1)["W_V"])

    def neurons(self, weights: dict[str, Tensor]) -> Neurons | None:
        """Reads W_E W_V W_in of the operands, which are the first tokens, as many as there are classes; writes W_out W_U.

        None for several layers or heads, if there is a normalisation between a token and the MLP, and for an MLP or a readout
        that does not consist of these matrices.
        """
        linear = not PATHS[self.norm] & {"value", "mlp"} and type(self.mlp).hidden is _HIDDEN
        writes = self.readout.writes(weights) if linear else None
        if writes is None or self.layers > 1 or self.heads > 1 or writes.shape[1] > weights["W_E"].shape[0]:
            return None
        classes = writes.shape[1]
        reads = weights["W_E"][:classes] @ weights["W_V"] @ weights["W_in"]
        return Neurons(reads.mT, self.readout_scale * writes)

    # ── around the MLP ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def _mixes_heads(self) -> bool:
        """Whether there is a W_O."""
        return self.heads > 1 and self.readout.residual

    def _attention_reads(self, x: Float[Tensor, "... d"], weights: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What queries and keys read of x, and what values read."""
        paths = PATHS[self.norm]
        normal = self._normal("attention", x, weights) if paths & SITES["attention"] else x
        return normal if "query-key" in paths else x, normal if "value" in paths else x

    def _joined(self, stream: Tensor, h: Tensor, weights: dict[str, Tensor]) -> Tensor:
        """What the MLP reads."""
        return self.readout.joined(stream, times(h, weights["W_O"]) if self._mixes_heads else h)


def layer_weights(weights: dict[str, Tensor], layer: int) -> dict[str, Tensor]:
    """All weights, with those of one layer under the names of the first: W_Q.1 is W_Q there."""
    if layer == 0:
        return weights
    suffix = f".{layer}"
    return weights | {name.removesuffix(suffix): w for name, w in weights.items() if name.endswith(suffix)}
