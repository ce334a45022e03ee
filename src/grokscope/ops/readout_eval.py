"""Evaluation of the residual readout on a CPU: cross-entropy of every answer and whether it is correct, without storing the logits.

The same network as in `readout_loss.py`, for measuring instead of training: a loss per example, and the gradient of their sum
on the attention weights alone, which is what Lemma 5.1 bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float, Int
from .lookup import Plan, _batched_if_given, _pool_forward, _pool_weight_backward
from .normalise import Normalise
from .readout_loss import FirstLayer, scaled_logits
from .team import block_bounds, each_block

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1024
"""Examples per block on a CPU, as in `readout_loss.py`."""


def evaluate_readout(
    values: Float[Tensor, "rows d"],
    attention: Float[Tensor, "example position"],
    plan: Plan,
    W_in: Float[Tensor, "d hidden"],
    W_out: Float[Tensor, "hidden d"],
    W_U: Float[Tensor, "d class"],
    labels: Int[Tensor, "example"],
    scale: float = 1.0,
    norm: Normalise | None = None,
    b_in: Float[Tensor, "hidden"] | None = None,
    b_logits: Float[Tensor, "class"] | None = None,
) -> tuple[Float[Tensor, "example"], Float[Tensor, "example"]]:
    """Cross-entropy of each answer, and 1 where it is correct. The first has a gradient on `attention` only."""
    wanted = torch.is_grad_enabled() and attention.requires_grad
    weights = (W_in, W_out, W_U, b_in, b_logits)
    loss, correct, *_ = _Evaluate.apply(attention, values, *weights, *plan, labels, scale, norm, wanted)
    return loss, correct


def _evaluated(
    attention: Tensor, values: Tensor, weights: list[Tensor | None],
    plan: Plan, labels: Tensor, scale: float, norm: Normalise | None, wanted: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Of stacked runs: cross-entropies, correct answers, and the gradient on attention if it is wanted."""
    loss, correct = (values.new_empty(labels.shape) for _ in range(2))
    to_attention = torch.empty_like(attention) if wanted else None
    for run in range(len(labels)):
        given = [t if t is None else t[run] for t in (attention, values, *weights, plan.row, labels, loss, correct)]
        _one_run(given, scale, norm, None if to_attention is None else to_attention[run])
    return (loss, correct) if to_attention is None else (loss, correct, to_attention)


def _one_run(given: list[Any], scale: float, norm: Normalise | None, to_attention: Tensor | None) -> None:
    """Write the cross-entropies, the correct answers and, if wanted, the gradient on attention of one run on a CPU."""
    attention, values, W_in, W_out, W_U, b_in, b_logits, row, labels, loss, correct = given
    blocks = block_bounds(len(labels), _BLOCK)
    first_layer = FirstLayer(values, W_in, len(labels), attention.shape[1], norm, b_in)

    def block(number: int) -> None:
        part = slice(*blocks[number])
        x, label = _pool_forward(values, attention[part], row[part]), labels[part, None]
        z, slope = (x, None) if norm is None else norm(x)
        active = first_layer(z, attention[part], row[part])
        logits = scaled_logits(torch.mm(active, W_out).add_(x), W_U, b_logits, scale)
        torch.log_softmax(logits, -1, out=logits)
        answer = logits.gather(-1, label).squeeze(-1)
        loss[part] = -answer
        correct[part] = (answer >= logits.amax(-1)).to(x)
        if to_attention is not None:
            back = logits.exp_().scatter_add_(-1, label, logits.new_full((), -1.0).expand(label.shape))
            to_x = torch.mm(back, W_U.mT) if scale == 1 else torch.mm(back, W_U.mT).mul_(scale)
            to_active = torch.mm(to_x, W_out.mT)
            torch.ops.aten.threshold_backward.grad_input(to_active, active, 0, grad_input=to_active)
            if norm is None:
                to_x.addmm_(to_active, W_in.mT)
            else:
                assert slope is not None
                to_x.add_(norm.backward(torch.mm(to_active, W_in.mT), z, slope))
            to_attention[part] = _pool_weight_backward(to_x, values, row[part])

    each_block(block, len(blocks))


class _Evaluate(torch.autograd.Function):
    """`evaluate_readout` of one run or of stacked runs, as an autograd function."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, scale, norm, wanted = inputs
        alone = tensors[0].ndim == 2
        stacked = [t.unsqueeze(0) if alone and t is not None else t for t in tensors]
        attention, values, *weights, row, order, starts, labels = stacked
        found = _evaluated(attention, values, weights, Plan(row, order, starts), labels, scale, norm, wanted)
        return tuple(t[0] if alone else t for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[2:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Any:
        if any(ctx.needs_input_grad[1:]):
            raise RuntimeError(
                "evaluate_readout has a gradient with respect to attention only: differentiate the model's logits instead"
            )
        (to_attention,) = ctx.saved_tensors
        return None if grad is None else grad[..., None] * to_attention, *(None,) * 13

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, scale, norm, wanted = inputs
        stacked = [_batched_if_given(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=False)]
        attention = stacked[0]
        wanted = wanted or (torch.is_grad_enabled() and attention is not None and attention.requires_grad)
        out = _Evaluate.apply(*stacked, scale, norm, wanted)
        return out, (0,) * len(out)
