"""From attention weights to the mean cross-entropy of the residual read-out, loss and gradients in one go.

x = Σ_j α_j values[row_j];  hidden = relu(x W_in);  y = x + hidden W_out;  logits = scale · y W_U;  mean over the examples of
−log softmax(logits)_label.

The loss is one number a run, so its gradients are known as soon as the forward pass is over: they are computed there, while
what they need is still at hand, and the backward pass only scales them. There is no second derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F

from ..shapes import Float, Int, checked
from .lookup import Plan, _batched, _lay_out, _pool_forward, _pool_weight_backward, _row_sums

if TYPE_CHECKING:
    from torch import Tensor

_LARGE = 1 << 18
"""Hidden activations of a run from which it is worked through alone on a CPU; smaller runs share each call."""
_BLOCK = 2048
"""Examples of a run at a time on a CPU: what one product writes is still in the cache for the next, and memory stays small."""


class _Runs(NamedTuple):
    """What stacked runs are given; each run's rows are counted within its own table."""

    values: Float[Tensor, "run rows d"]
    attention: Float[Tensor, "run example position"]
    W_in: Float[Tensor, "run d hidden"]
    W_out: Float[Tensor, "run hidden d"]
    W_U: Float[Tensor, "run d class"]
    row: Int[Tensor, "run example position"]
    order: Int[Tensor, "run reads"]
    starts: Int[Tensor, "run rows"]
    labels: Int[Tensor, "run example"]


class _Found(NamedTuple):
    """The loss of each run, and its gradients."""

    loss: Float[Tensor, "run"]
    values: Float[Tensor, "run rows d"]
    attention: Float[Tensor, "run example position"]
    W_in: Float[Tensor, "run d hidden"]
    W_out: Float[Tensor, "run hidden d"]
    W_U: Float[Tensor, "run d class"]


@checked
def mean_cross_entropy(
    values: Float[Tensor, "... rows d"],
    attention: Float[Tensor, "... example position"],
    plan: Plan,
    W_in: Float[Tensor, "... d hidden"],
    W_out: Float[Tensor, "... hidden d"],
    W_U: Float[Tensor, "... d class"],
    labels: Int[Tensor, "... example"],
    scale: float = 1.0,
    once: bool = False,
) -> Float[Tensor, "..."]:
    """The mean cross-entropy of one run, or of each of stacked runs.

    once   a promise that the loss enters what is differentiated with weight 1: its gradients are passed on as they are
    """
    tensors = (values, attention, W_in, W_out, W_U)
    loss: Tensor = _Head.apply(*tensors, *plan, labels, scale, once, _wanted(*tensors))[0]
    return loss


def loss_and_gradients(
    values: Float[Tensor, "run rows d"],
    attention: Float[Tensor, "run example position"],
    plan: Plan,
    W_in: Float[Tensor, "run d hidden"],
    W_out: Float[Tensor, "run hidden d"],
    W_U: Float[Tensor, "run d class"],
    labels: Int[Tensor, "run example"],
    scale: float,
) -> tuple[Tensor, ...]:
    """The loss of each run and its gradients: values, attention, W_in, W_out, W_U. All tensors are stacked, the plan's too;
    each run's rows are counted within its own table."""
    if values.is_cuda:
        from .triton.readout import loss_and_gradients as on_gpu

        return on_gpu(values, attention, plan, W_in, W_out, W_U, labels, scale)
    runs = _Runs(values, attention, W_in, W_out, W_U, *plan, labels)
    # how a run is worked through depends on its own sizes alone, so that its numbers do not depend on its neighbours
    (lanes, examples), hidden = labels.shape, W_in.shape[-1]
    together = lanes == 1 or examples * hidden < _LARGE
    new = [t.new_empty(t.shape) for t in (values, attention, W_in, W_out.mT, W_U)]
    found = _Found(values.new_empty(lanes), *new)._replace(W_out=new[3].mT)
    for one in [slice(None)] if together else [slice(run, run + 1) for run in range(lanes)]:
        _work_through(_Runs(*(t[one] for t in runs)), scale, _Found(*(t[one] for t in found)))
    return found


def _work_through(runs: _Runs, scale: float, found: _Found) -> None:
    """Write what is found of some runs on a CPU, a block of examples of each at a time."""
    values, attention, W_in, W_out, W_U, *_, labels = runs
    (lanes, examples, length), d = attention.shape, values.shape[-1]
    plan, table, weight = _laid_out(runs)
    x = _pool_forward(table, weight, plan.row).view(lanes, examples, d)
    to_x = torch.empty_like(x)
    label_logs = x.new_empty(lanes, examples, 1)
    minus_one = x.new_full((1, 1, 1), -1.0)
    step = scale / examples
    to_W_out = found.W_out.mT  # the faster way round
    block = -(-examples // -(-examples // _BLOCK))  # all of much the same size
    for begin in range(0, examples, block):
        part = slice(begin, begin + block)
        more = float(begin > 0)
        own, answer, to_own = x[:, part], labels[:, part, None], to_x[:, part]
        active = torch.bmm(own, W_in).relu_()
        y = torch.bmm(active, W_out).add_(own)
        logits = torch.bmm(y, W_U) if scale == 1 else torch.bmm(y, W_U).mul_(scale)
        torch.log_softmax(logits, -1, out=logits)
        torch.gather(logits, -1, answer, out=label_logs[:, part])
        to_logits = logits.exp_().scatter_add_(-1, answer, minus_one.expand_as(answer))  # of the loss: times `step`
        found.W_U.baddbmm_(y.mT, to_logits, beta=more, alpha=step)
        torch.baddbmm(to_own, to_logits, W_U.mT, beta=0, alpha=step, out=to_own)
        to_W_out.baddbmm_(to_own.mT, active, beta=more)
        to_active = torch.bmm(to_own, W_out.mT)
        torch.ops.aten.threshold_backward.grad_input(to_active, active, 0, grad_input=to_active)
        found.W_in.baddbmm_(own.mT, to_active, beta=more)
        to_own.baddbmm_(to_active, W_in.mT)
    torch.mean(label_logs.squeeze(2), 1, out=found.loss).neg_()
    to_x = to_x.view(-1, d)
    found.values.copy_(_row_sums(to_x, plan, weight, length).view(values.shape))
    found.attention.copy_(_pool_weight_backward(to_x, table, plan.row).view(attention.shape))


def _laid_out(runs: _Runs) -> tuple[Plan, Tensor, Tensor]:
    """Plan, values and attention of all runs one after another."""
    lanes, rows, d = runs.values.shape
    plan = Plan(runs.row, runs.order, runs.starts)
    flat = Plan(*(t[0] for t in plan)) if lanes == 1 else _lay_out(lanes, rows, plan, (0, 0, 0))
    return flat, runs.values.reshape(lanes * rows, d), runs.attention.flatten(0, 1)


def _loss(runs: _Runs, scale: float) -> Float[Tensor, "run"]:
    """The loss alone."""
    plan, table, weight = _laid_out(runs)
    x = _pool_forward(table, weight, plan.row).unflatten(0, runs.labels.shape)
    logits = scale * (x + torch.relu(x @ runs.W_in) @ runs.W_out) @ runs.W_U
    return -F.log_softmax(logits, -1).gather(-1, runs.labels.unsqueeze(-1)).mean((1, 2))


def _wanted(*tensors: Tensor) -> bool:
    """Is a gradient asked for?"""
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


class _Head(torch.autograd.Function):
    """Of one run, or of stacked runs."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, scale, _, wanted = inputs
        alone = tensors[0].ndim == 2
        runs = _Runs(*(t.unsqueeze(0) if alone else t for t in tensors))
        plan = Plan(runs.row, runs.order, runs.starts)
        found = loss_and_gradients(*runs[:2], plan, *runs[2:5], runs.labels, scale) if wanted else (_loss(runs, scale),)
        return tuple(t[0] if alone else t for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.once = inputs[-2]
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("mean_cross_entropy has no second derivative: take it of the model's logits")
        if grad is None:
            return (None,) * 12
        gradients = ctx.saved_tensors if ctx.once else (grad[..., None, None] * g for g in ctx.saved_tensors)
        return *gradients, *(None,) * 7

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, scale, once, wanted = inputs
        stacked = [_batched(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=False)]
        out = _Head.apply(*stacked, scale, once, wanted or _wanted(*stacked[:5]))
        return out, (0,) * len(out)
