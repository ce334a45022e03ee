"""The normalised embedding of every token at every place, on a GPU: N(E_v + P_t) from one kernel, and its gradient from another.

It is small but made of many operations, each of which reads and writes it whole; autograd runs three times as many backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float
from .lookup import _batched, _one_axis
from .normalise import Normalise

if TYPE_CHECKING:
    from torch import Tensor


def normal_rows(
    token: Float[Tensor, "... token d"], place: Float[Tensor, "... place d"], norm: Normalise
) -> Float[Tensor, "... row d"]:
    """The table whose row of a token at a place is the norm of their sum, of one run or of each of stacked runs; bf16 under
    autocast, since products read it."""
    table: Tensor = _NormalRows.apply(token, place, norm)[0]
    return table


def plain_rows(token: Tensor, place: Tensor, norm: Normalise) -> Tensor:
    """The same from operations with derivatives of every order."""
    return norm.plain(_sums(token, place))[0]


def _sums(token: Tensor, place: Tensor) -> Float[Tensor, "... row d"]:
    return (token.unsqueeze(-2) + place.unsqueeze(-3)).flatten(-3, -2)


class _NormalRows(torch.autograd.Function):
    @staticmethod
    def forward(token: Tensor, place: Tensor, norm: Normalise) -> Any:
        from .triton.normal_rows import normal_rows as on_gpu

        kind = torch.bfloat16 if torch.is_autocast_enabled(token.device.type) else torch.float32
        found = on_gpu(_one_axis(token), _one_axis(place), norm.kind == "layer", norm.epsilon, kind)
        return tuple(t.view(*token.shape[:-2], *t.shape[1:]) for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        token, place, ctx.norm = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(token, place, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: None) -> Any:
        token, place, z, slope = ctx.saved_tensors
        if torch.is_grad_enabled():  # for a second derivative
            to_rows = ctx.norm.plain_backward(grad.to(token.dtype), *ctx.norm.plain(_sums(token, place)))
            to_rows = to_rows.unflatten(-2, (token.shape[-2], -1))
            return to_rows.sum(-2), to_rows.sum(-3), None
        from .triton.normal_rows import normal_rows_backward

        grads = _one_axis(grad), _one_axis(z), _one_axis(slope)
        found = normal_rows_backward(*grads, token.shape[-2], ctx.norm.kind == "layer")
        return *(t.view(*grad.shape[:-2], *t.shape[1:]) for t in found), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, token: Tensor, place: Tensor, norm: Normalise) -> Any:
        lanes = info.batch_size
        return _NormalRows.apply(_batched(lanes, token, in_dims[0]), _batched(lanes, place, in_dims[1]), norm), (0, 0)
