"""Weighted look-ups of long sequences on a GPU, as matrix products.

A value is that of the token plus that of its place. A sum over many places reads the same few rows again and again:
Σ_j α_j (token[v_j] + place[j]) = A · [token; place], where A holds the weight of every token in an example and that of every
place. A is as wide as the vocabulary and the sequence together, and matrix units multiply by it in less time than it takes to
look up a row for every place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float
from .lookup import Plan, _batched
from .pool_added import pool_added
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor

LONG = 9
"""Places of a sequence from which products should take less time than look-ups, by the bytes and operations of both."""
WIDEST = 512
"""Most tokens and places together: products grow with the vocabulary, look-ups do not."""
_ALIGNED = 16
"""Rows of a matrix are as long as a multiple of this: matrix units read whole lines."""


def pool_apart(
    token: Float[Tensor, "... token d"],
    place: Float[Tensor, "... place d"],
    weight: Float[Tensor, "... example 1 position"],
    plan: Plan,
) -> Float[Tensor, "... example d"]:
    """h = Σ_j weight_j · (token[v_j] + place[j]), of one run or of each of stacked runs."""
    narrow = token.shape[-2] + place.shape[-2] <= WIDEST
    if plan.row.shape[-1] < LONG or not narrow or not usable_on(token.device):
        return pool_added(token, place, weight, plan)
    h: Tensor = _ByToken.apply(token, place, weight.squeeze(-2), plan.row)[0]
    return h


class _ByToken(torch.autograd.Function):
    """bf16 under autocast. There is no second derivative."""

    @staticmethod
    def forward(token: Tensor, place: Tensor, weight: Tensor, row: Tensor) -> Any:
        alone = token.ndim == 2
        token, place, weight, row = (t.unsqueeze(0) if alone else t for t in (token, place, weight, row))
        found = by_token(token, place, weight, row)
        return tuple(t[0] if alone else t for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(inputs[3], *output[1:])
        ctx.sizes = tuple(t.shape[-2] for t in inputs[:2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: None) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("pool_apart has no second derivative: differentiate the model's logits instead")
        saved = ctx.saved_tensors
        alone = grad.ndim == 2
        row, table, spread, grad = (t.unsqueeze(0) if alone else t for t in (*saved, grad))
        found = by_token_backward(grad, row, table, spread, *ctx.sizes)
        return *(t[0] if alone else t for t in found), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> Any:
        stacked = (_batched(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=True))
        return _ByToken.apply(*stacked), (0,) * 3


def by_token(token: Tensor, place: Tensor, weight: Tensor, row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """h of stacked runs; and [token; place] and A for the backward pass."""
    from .triton.by_token import spread

    tokens, places = token.shape[1], place.shape[1]
    width = -(-(tokens + places) // _ALIGNED) * _ALIGNED
    table = torch.cat([token, place, token.new_zeros(len(token), width - tokens - places, token.shape[-1])], 1)
    weights = spread(weight, row, tokens, places, width)
    return torch.bmm(weights, table), table, weights


def by_token_backward(
    grad: Tensor, row: Tensor, table: Tensor, weights: Tensor, tokens: int, places: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients on the values of tokens, on those of places, and on the weights of the reads."""
    from .triton.by_token import collect

    to_table = torch.bmm(weights.mT.to(grad.dtype), grad).float()
    to_weights = torch.bmm(grad, table.mT.to(grad.dtype)).float()
    to_token, to_place, _ = to_table.split([tokens, places, table.shape[1] - tokens - places], 1)
    return to_token, to_place, collect(to_weights, row, tokens, places)
