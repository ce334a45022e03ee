"""Attention of the query and the values that it reads, of stacked runs on a GPU: as `ops/query_attention.py`, from few kernels.

A step of a few runs takes as long as its kernels are many, and autograd runs about twice as many.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from .triton.lookup import added_backward, row_sums
from .triton.read_softmax import read_softmax, read_softmax_backward

if TYPE_CHECKING:
    from torch import Tensor

    from .lookup import Plan


def attend(
    W_E: Tensor, W_pos: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, plan: Plan
) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
    """Attention, its logarithm, its logits and the values of tokens and places; and e_q, W_Qᵀ e_q and r for the backward pass."""
    query = W_E[:, -1:] + W_pos[:, -1:]
    own = torch.bmm(query, W_Q)
    r = torch.baddbmm(own.mT, W_K, own.mT, beta=0, alpha=1 / math.sqrt(W_E.shape[-1]))
    seen = read_softmax(torch.bmm(W_E, r).squeeze(-1), torch.bmm(W_pos, r).squeeze(-1), plan.row)
    token, place = torch.bmm(W_E, W_V), torch.baddbmm(query, W_pos, W_V)
    return (*seen, token, place), (query, own, r)


def attend_backward(
    weights: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
    kept: tuple[Tensor, Tensor, Tensor],
    plan: Plan,
    attention: Tensor,
    to: tuple[Tensor | None, Tensor | None, Tensor | None, Tensor, Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients with respect to W_E, W_pos, W_Q, W_K and W_V.

    to   gradients on attention, its logarithm, its logits (None is 0) and the values of tokens and places
    """
    W_E, W_pos, W_Q, W_K, W_V = weights
    query, own, r = kept
    tokens, share = W_E.shape[1], 1 / math.sqrt(W_E.shape[-1])
    to_attention, to_log, to_logits, to_token, to_place = to
    to_V = torch.bmm(W_pos.mT, to_place).baddbmm_(W_E.mT, to_token)
    to_query = to_place.sum(1, keepdim=True)
    to_E, to_pos = torch.bmm(to_token, W_V.mT), torch.bmm(to_place, W_V.mT)
    to_logits = read_softmax_backward(attention, to_attention, to_log, to_logits)
    if to_logits is None:
        to_Q, to_K = torch.zeros_like(W_Q), torch.zeros_like(W_K)
    else:
        table = row_sums(to_logits.flatten(1).unsqueeze(-1), plan.order, plan.starts, None, 1)
        for_token, for_place = added_backward(table, tokens)
        to_r = torch.bmm(W_pos.mT, for_place).baddbmm_(W_E.mT, for_token, beta=share, alpha=share)
        to_own = torch.bmm(to_r.mT, W_K)
        to_query.baddbmm_(to_own, W_Q.mT)
        to_E.baddbmm_(for_token, r.mT)
        to_pos.baddbmm_(for_place, r.mT)
        to_Q, to_K = torch.bmm(query.mT, to_own), torch.bmm(to_r, own)
    for table in (to_E, to_pos):
        table[:, -1:].add_(to_query)
    return to_E, to_pos, to_Q, to_K, to_V
