"""How each answer of the residual read-out is graded: its cross-entropy and whether it is right, without keeping the logits.

The same network as in `head.py`, for measuring instead of training: a loss for every example, and the gradient of their sum on
the attention weights alone, which is what Lemma 5.1 bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float, Int
from .lookup import Plan, _batched, _lay_out, _pool_forward, _pool_weight_backward

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1024
"""Examples at a time on a CPU, so that what one product writes is still in the cache for the next."""


def grades(
    values: Float[Tensor, "rows d"],
    attention: Float[Tensor, "example position"],
    plan: Plan,
    W_in: Float[Tensor, "d hidden"],
    W_out: Float[Tensor, "hidden d"],
    W_U: Float[Tensor, "d class"],
    labels: Int[Tensor, "example"],
    scale: float = 1.0,
) -> tuple[Float[Tensor, "example"], Float[Tensor, "example"]]:
    """Cross-entropy of each answer, and 1 where it is right. The first has a gradient on `attention` only."""
    wanted = torch.is_grad_enabled() and attention.requires_grad
    loss, right, *_ = _Grades.apply(attention, values, W_in, W_out, W_U, *plan, labels, scale, wanted)
    return loss, right


def _graded(
    attention: Tensor, values: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor,
    plan: Plan, labels: Tensor, scale: float, wanted: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Of stacked runs: cross-entropies, right answers, and the gradient on attention if it is wanted."""
    if values.is_cuda:
        from .triton.readout import grades as on_gpu

        return on_gpu(values, attention, plan, W_in, W_out, W_U, labels, scale, wanted)
    (runs, examples), (rows, d) = labels.shape, values.shape[1:]
    flat, table = _lay_out(runs, rows, plan, (0, 0, 0)), values.reshape(runs * rows, d)
    x = _pool_forward(table, attention.flatten(0, 1), flat.row).view(runs, examples, d)
    loss, right, to_x = x.new_empty(runs, examples), x.new_empty(runs, examples), torch.empty_like(x)
    for begin in range(0, examples, _BLOCK):
        part = slice(begin, begin + _BLOCK)
        own, label = x[:, part], labels[:, part, None]
        active = torch.bmm(own, W_in).relu_()
        logits = torch.bmm(torch.bmm(active, W_out).add_(own), W_U)
        if scale != 1:
            logits.mul_(scale)
        torch.log_softmax(logits, -1, out=logits)
        answer = logits.gather(-1, label).squeeze(-1)
        loss[:, part] = -answer
        right[:, part] = (answer >= logits.amax(-1)).to(x)
        if wanted:
            back = logits.exp_().scatter_add_(-1, label, logits.new_tensor(-1.0).expand(label.shape))
            back = torch.bmm(back, W_U.mT) if scale == 1 else torch.bmm(back, W_U.mT).mul_(scale)
            to_active = torch.bmm(back, W_out.mT)
            torch.ops.aten.threshold_backward.grad_input(to_active, active, 0, grad_input=to_active)
            torch.baddbmm(back, to_active, W_in.mT, out=to_x[:, part])
    if not wanted:
        return loss, right
    return loss, right, _pool_weight_backward(to_x.view(-1, d), table, flat.row).view(attention.shape)


class _Grades(torch.autograd.Function):
    """Of one run, or of stacked runs."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, scale, wanted = inputs
        alone = tensors[0].ndim == 2
        attention, values, W_in, W_out, W_U, *plan, labels = (t.unsqueeze(0) if alone else t for t in tensors)
        found = _graded(attention, values, W_in, W_out, W_U, Plan(*plan), labels, scale, wanted)
        return tuple(t[0] if alone else t for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[2:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Any:
        if any(ctx.needs_input_grad[1:]):
            raise RuntimeError("grades have a gradient on attention only: take others of the model's logits")
        (to_attention,) = ctx.saved_tensors
        return None if grad is None else grad[..., None] * to_attention, *(None,) * 10

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, scale, wanted = inputs
        stacked = [_batched(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=False)]
        wanted = wanted or (torch.is_grad_enabled() and stacked[0].requires_grad)
        out = _Grades.apply(*stacked, scale, wanted)
        return out, (0,) * len(out)
