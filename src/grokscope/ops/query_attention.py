"""Attention of the query and the values that it reads, for one head without a norm: forward, and a hand-written backward.

With e_q = E_last + P_last and r = W_K W_Qᵀ e_q / √d, token v at position t has the logit (E_v + P_t) · r and the value
(E_v + P_t) W_V + e_q: attention sums to 1, so the query may be added to the values. Both are products of embeddings with one
matrix, M = [W_V r]. Autograd would run fifty small operations backward, each of which costs time on a CPU.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..shapes import Float, Int, checked
from .lookup import Plan, _batched

if TYPE_CHECKING:
    from torch import Tensor


class Attended(NamedTuple):
    """Attention of the query, and the values that it reads: those of a token and of its place are added."""

    attention: Float[Tensor, "... example position"]
    log_attention: Float[Tensor, "... example position"]
    logits: Float[Tensor, "... example position"]
    token: Float[Tensor, "... token d"]
    place: Float[Tensor, "... place d"]


def attend(weights: dict[str, Tensor], plan: Plan) -> Attended:
    """Attention of one run, or of each of several stacked runs."""
    matrices = [weights[name] for name in ("W_E", "W_pos", "W_Q", "W_K", "W_V")]
    if matrices[0].is_cuda:
        return Attended(*_AttendOnGPU.apply(*matrices, *plan)[:5])
    return Attended(*_Attend.apply(*matrices, plan.row)[:5])


@checked
def _forward(
    W_E: Float[Tensor, "run token d"],
    W_pos: Float[Tensor, "run place d"],
    W_Q: Float[Tensor, "run d d"],
    W_K: Float[Tensor, "run d d"],
    W_V: Float[Tensor, "run d d"],
    row: Int[Tensor, "run example position"],
) -> tuple[Tensor, ...]:
    """The fields of `Attended`, and W_Qᵀ e_q and M for the backward pass."""
    d = W_E.shape[-1]
    query = _query(W_E, W_pos)
    own = torch.bmm(query, W_Q)
    M = torch.cat([W_V, torch.bmm(W_K, own.mT) / math.sqrt(d)], -1)
    token, place = torch.bmm(W_E, M), torch.bmm(W_pos, M)
    table = token[:, :, None, d] + place[:, None, :, d]
    logits = table.flatten(1).gather(1, row.flatten(1)).view(row.shape)
    # over a short last axis softmax is six times slower than over one before the examples
    log_attention = torch.log_softmax(logits.movedim(-1, 1), 1).movedim(1, -1).contiguous()
    attention = log_attention.exp()
    return attention, log_attention, logits, token[..., :d].contiguous(), place[..., :d] + query, own, M


def _backward(saved: tuple[Tensor, ...], to: Attended) -> tuple[Tensor, ...]:
    """Gradients with respect to W_E, W_pos, W_Q, W_K and W_V."""
    W_E, W_pos, W_Q, W_K, row, attention, own, M = saved
    d, tokens, places = W_E.shape[-1], W_E.shape[1], W_pos.shape[1]
    to_log = torch.addcmul(to.log_attention, attention, to.attention)
    to_logits = torch.addcmul(to.logits + to_log, attention, to_log.sum(-1, keepdim=True), value=-1)
    to_table = attention.new_zeros(len(row), tokens * places).scatter_add_(1, row.flatten(1), to_logits.flatten(1))
    to_table = to_table.unflatten(1, (tokens, places))
    to_token = torch.cat([to.token, to_table.sum(2)[..., None]], -1)
    to_place = torch.cat([to.place, to_table.sum(1)[..., None]], -1)
    to_M = torch.bmm(W_E.mT, to_token).baddbmm_(W_pos.mT, to_place)
    to_r = to_M[..., d:] / math.sqrt(d)
    to_own = torch.bmm(to_r.mT, W_K)
    to_query = torch.baddbmm(to.place.sum(1, keepdim=True), to_own, W_Q.mT)
    to_E, to_pos = torch.bmm(to_token, M.mT), torch.bmm(to_place, M.mT)
    for table in (to_E, to_pos):
        table[:, -1:] += to_query
    return to_E, to_pos, torch.bmm(_query(W_E, W_pos).mT, to_own), torch.bmm(to_r, own), to_M[..., :d]


def _query(W_E: Tensor, W_pos: Tensor) -> Float[Tensor, "run 1 d"]:
    """e_q: the last token at the last position."""
    return W_E[:, -1:] + W_pos[:, -1:]


class _Attend(torch.autograd.Function):
    """`attend` of one run or of stacked runs, as an autograd function."""

    @staticmethod
    def forward(*tensors: Tensor) -> Any:
        if tensors[0].ndim == 2:
            return tuple(t[0] for t in _forward(*(t.unsqueeze(0) for t in tensors)))
        return _forward(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        W_E, W_pos, W_Q, W_K, _, row = inputs
        attention, *_, own, M = output
        ctx.mark_non_differentiable(own, M)
        ctx.save_for_backward(W_E, W_pos, W_Q, W_K, row, attention, own, M)

    @staticmethod
    def backward(ctx: Any, *to: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("attend has no second derivative: differentiate the model's logits instead")
        saved, given = ctx.saved_tensors, to[:5]
        if saved[0].ndim > 2:
            return *_backward(saved, Attended(*given)), None
        alone = tuple(t.unsqueeze(0) for t in saved), Attended(*(t.unsqueeze(0) for t in given))
        return *(t[0] for t in _backward(*alone)), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> Any:
        stacked = (_batched(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=True))
        return _Attend.apply(*stacked), (0,) * 7


class _AttendOnGPU(torch.autograd.Function):
    """`attend` of stacked runs on a GPU, as an autograd function. Small products: in float32 or TF32 under autocast, too."""

    @staticmethod
    def forward(*tensors: Tensor) -> Any:
        from .query_attention_batched import attend as batched

        W_E, W_pos, W_Q, W_K, W_V, *plan = tensors
        with torch.autocast("cuda", enabled=False):
            found, kept = batched(W_E, W_pos, W_Q, W_K, W_V, Plan(*plan))
        return *found, *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[5:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, output[0], *output[5:])

    @staticmethod
    def backward(ctx: Any, *to: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("attend has no second derivative: differentiate the model's logits instead")
        from .query_attention_batched import attend_backward

        saved = ctx.saved_tensors
        weights, plan, attention, kept = saved[:5], Plan(*saved[5:8]), saved[8], saved[9:]
        return *attend_backward(weights, kept, plan, attention, to[:5]), None, None, None
