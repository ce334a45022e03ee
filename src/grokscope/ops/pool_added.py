"""Weighted look-ups in a table of sums, on a GPU: the sum of a token's and a place's vector is rounded as it is formed, and kept
for the backward pass as it was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float
from .lookup import Plan, _batched, _one_axis, added, pool_heads
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor


def pool_added(
    token: Float[Tensor, "... token width"],
    place: Float[Tensor, "... place width"],
    weight: Float[Tensor, "... example head position"],
    plan: Plan,
) -> Float[Tensor, "... example width"]:
    """`pool_heads` in the table of `added`, of one run or of each of stacked runs."""
    if not usable_on(token.device):
        return pool_heads(added(token, place), weight, plan)
    h: Tensor = _PoolAdded.apply(token, place, weight, *plan)[0]
    return h


class _PoolAdded(torch.autograd.Function):
    """bf16 under autocast. There is no second derivative."""

    @staticmethod
    def forward(token: Tensor, place: Tensor, weight: Tensor, row: Tensor, order: Tensor, starts: Tensor) -> Any:
        from .triton.lookup import added as on_gpu
        from .triton.lookup import pool_forward

        kind = torch.bfloat16 if torch.is_autocast_enabled(token.device.type) else torch.float32
        table = on_gpu(_one_axis(token), _one_axis(place), kind)
        table = table.view(*token.shape[:-2], *table.shape[1:])
        return pool_forward(table, weight, row), table

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        token, _, *others = inputs
        ctx.tokens = token.shape[-2]
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*others, output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: None) -> Any:
        from .triton.lookup import added_backward, pool_weight_backward, row_sums

        if torch.is_grad_enabled():
            raise RuntimeError("pool_added has no second derivative: differentiate the model's logits instead")
        weight, row, order, starts, table = ctx.saved_tensors
        to_token = to_place = to_weight = None
        if any(ctx.needs_input_grad[:2]):
            sums = row_sums(grad, order, starts, weight, row.shape[-1])
            found = added_backward(_one_axis(sums), ctx.tokens)
            to_token, to_place = (t.view(*sums.shape[:-2], *t.shape[1:]) for t in found)
        if ctx.needs_input_grad[2]:
            to_weight = pool_weight_backward(grad, table.to(grad.dtype), row, weight.shape[-2])
        return to_token, to_place, to_weight, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> Any:
        stacked = (_batched(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=True))
        return _PoolAdded.apply(*stacked), (0, 0)
