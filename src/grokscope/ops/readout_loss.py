"""Readout loss on a CPU: from attention to the mean cross-entropy of the residual readout, with gradients, in one operation.

x = Σ_j α_j values[row_j];  hidden = relu(N(x) W_in + b_in) with a norm N or none;  y = x + hidden W_out;
logits = scale · (y W_U + b_logits);  the mean over the examples of −log softmax(logits)_label. Both biases may be missing.

The loss is one number per run, so its gradients are computed in the forward pass, while the intermediate results are still in
the cache, and the backward pass only scales them. There is no second derivative.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F

from ..shapes import Float, Int, checked
from .lookup import Plan, _batched_if_given, _pool_forward, _pool_weight_backward, _row_sums
from .normalise import Normalise
from .team import block_bounds, each_block

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1024
"""Examples per block on a CPU: the output of one product is still in the cache for the next, memory use stays small, and idle
cores can take blocks."""


_LOOK_UP = 4
"""Cost of adding a weighted table entry, in multiply-adds of a product."""


class FirstLayer:
    """relu(x W_in + b_in) of a block of examples on a CPU, either as a product, or from a table of values[row] W_in: there are far
    fewer rows than examples, and x W_in = Σ_j α_j (values W_in)[row_j]. The shapes alone decide which."""

    def __init__(
        self,
        values: Float[Tensor, "rows d"],
        W_in: Float[Tensor, "d hidden"],
        examples: int,
        positions: int,
        norm: Normalise | None,
        b_in: Float[Tensor, "hidden"] | None,
    ):
        rows, d = values.shape
        self.W_in, self.b_in = W_in, b_in
        cheaper = norm is None and rows * d + _LOOK_UP * examples * positions < examples * d
        self.table = torch.mm(values, W_in) if cheaper else None

    def __call__(
        self,
        z: Float[Tensor, "example d"],
        attention: Float[Tensor, "example position"],
        row: Int[Tensor, "example position"],
    ) -> Float[Tensor, "example hidden"]:
        hidden = torch.mm(z, self.W_in) if self.table is None else _pool_forward(self.table, attention, row)
        return hidden.relu_() if self.b_in is None else hidden.add_(self.b_in).relu_()


class _Runs(NamedTuple):
    """Inputs of stacked runs; each run's rows are counted within its own table."""

    values: Float[Tensor, "run rows d"]
    attention: Float[Tensor, "run example position"]
    W_in: Float[Tensor, "run d hidden"]
    W_out: Float[Tensor, "run hidden d"]
    W_U: Float[Tensor, "run d class"]
    b_in: Float[Tensor, "run hidden"] | None
    b_logits: Float[Tensor, "run class"] | None
    row: Int[Tensor, "run example position"]
    order: Int[Tensor, "run reads"]
    starts: Int[Tensor, "run rows"]
    labels: Int[Tensor, "run example"]

    def one(self, run: int) -> _Runs:
        """Those of one run."""
        own: list[Any] = [t if t is None else t[run] for t in self]
        return _Runs(*own)


class _Found(NamedTuple):
    """The loss of each run, and its gradients."""

    loss: Float[Tensor, "run"]
    values: Float[Tensor, "run rows d"]
    attention: Float[Tensor, "run example position"]
    W_in: Float[Tensor, "run d hidden"]
    W_out: Float[Tensor, "run hidden d"]
    W_U: Float[Tensor, "run d class"]
    b_in: Float[Tensor, "run hidden"] | None
    b_logits: Float[Tensor, "run class"] | None

    def one(self, run: int) -> _Found:
        """Those of one run."""
        own: list[Any] = [t if t is None else t[run] for t in self]
        return _Found(*own)


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
    norm: Normalise | None = None,
    b_in: Float[Tensor, "... hidden"] | None = None,
    b_logits: Float[Tensor, "... class"] | None = None,
    once: bool = False,
) -> Float[Tensor, "..."]:
    """The mean cross-entropy of one run, or of each of several stacked runs.

    norm   of x before the MLP
    b_in   bias of the hidden layer
    b_logits    bias of the logits
    once   assume that the loss enters the objective with weight 1: its gradients are passed on unscaled
    """
    tensors = (values, attention, W_in, W_out, W_U, b_in, b_logits)
    loss: Tensor = _ReadoutLoss.apply(*tensors, *plan, labels, scale, norm, once, _wanted(*tensors))[0]
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
    norm: Normalise | None = None,
    b_in: Float[Tensor, "run hidden"] | None = None,
    b_logits: Float[Tensor, "run class"] | None = None,
) -> tuple[Tensor, ...]:
    """The loss of each run and its gradients: values, attention, W_in, W_out, W_U, and of the biases that are given. All tensors
    are stacked, the plan's too; each run's rows are counted within its own table."""
    runs = _Runs(values, attention, W_in, W_out, W_U, b_in, b_logits, *plan, labels)
    new = [t if t is None else t.new_empty(t.shape) for t in runs[:7]]
    found = _Found(values.new_empty(len(labels)), *new)  # type: ignore[arg-type]
    for run in range(len(labels)):  # one at a time: the numbers of a run do not depend on its neighbours
        _one_run(runs.one(run), scale, norm, found.one(run))
    return tuple(t for t in found if t is not None)


def _one_run(run: _Runs, scale: float, norm: Normalise | None, found: _Found) -> None:
    """Write the loss and the gradients of one run on a CPU, a block of examples at a time."""
    values, attention, W_in, W_out, W_U, b_in, b_logits, row, order, starts, labels = run
    (examples, length), d = attention.shape, values.shape[-1]
    blocks = block_bounds(examples, _BLOCK)
    to_x, label_logs = values.new_empty(examples, d), values.new_empty(examples, 1)
    to_W_in, to_W_out_T, to_W_U = (W.new_empty(len(blocks), *W.shape) for W in (W_in, W_out.mT, W_U))
    to_b_in, to_b_logits = (None if b is None else b.new_empty(len(blocks), *b.shape) for b in (b_in, b_logits))
    minus_one = values.new_full((1, 1), -1.0)
    first_layer = FirstLayer(values, W_in, examples, length, norm, b_in)

    def block(number: int) -> None:
        part = slice(*blocks[number])
        x, answer, to_own = _pool_forward(values, attention[part], row[part]), labels[part, None], to_x[part]
        z, slope = (x, None) if norm is None else norm(x)
        active = first_layer(z, attention[part], row[part])
        y = torch.mm(active, W_out).add_(x)
        logits = scaled_logits(y, W_U, b_logits, scale)
        torch.log_softmax(logits, -1, out=logits)
        torch.gather(logits, -1, answer, out=label_logs[part])
        to_logits = logits.exp_().scatter_add_(-1, answer, minus_one.expand_as(answer))  # times scale / examples
        torch.mm(y.mT, to_logits, out=to_W_U[number])
        if to_b_logits is not None:
            torch.sum(to_logits, 0, out=to_b_logits[number])
        torch.mm(to_logits, W_U.mT, out=to_own)
        torch.mm(to_own.mT, active, out=to_W_out_T[number])  # faster in this order
        to_active = torch.mm(to_own, W_out.mT)
        torch.ops.aten.threshold_backward.grad_input(to_active, active, 0, grad_input=to_active)
        torch.mm(z.mT, to_active, out=to_W_in[number])
        if to_b_in is not None:
            torch.sum(to_active, 0, out=to_b_in[number])
        if norm is None:
            to_own.addmm_(to_active, W_in.mT)
        else:
            assert slope is not None
            to_own.add_(norm.backward(torch.mm(to_active, W_in.mT), z, slope))
        found.attention[part] = _pool_weight_backward(to_own, values, row[part])

    each_block(block, len(blocks))
    step = scale / examples
    torch.mean(label_logs.squeeze(1), 0, out=found.loss).neg_()
    found.values.copy_(_row_sums(to_x, Plan(row, order, starts), attention, length)).mul_(step)
    found.attention.mul_(step)
    for whole, parts in (
        (found.W_in, to_W_in),
        (found.W_out.mT, to_W_out_T),
        (found.W_U, to_W_U),
        (found.b_in, to_b_in),
        (found.b_logits, to_b_logits),
    ):
        if parts is not None:
            torch.mul(parts.sum(0), step, out=whole)


def scaled_logits(y: Tensor, W_U: Tensor, b_logits: Tensor | None, scale: float) -> Float[Tensor, "example class"]:
    """scale · (y W_U + b_logits) on a CPU."""
    logits = torch.mm(y, W_U) if b_logits is None else torch.mm(y, W_U).add_(b_logits)
    return logits if scale == 1 else logits.mul_(scale)


def _loss(runs: _Runs, scale: float, norm: Normalise | None) -> Float[Tensor, "run"]:
    """The loss alone."""
    losses = []
    for run in range(len(runs.labels)):
        values, attention, W_in, W_out, W_U, b_in, b_logits, row, _, _, labels = runs.one(run)
        x = _pool_forward(values, attention, row)
        z = x if norm is None else norm(x)[0]
        hidden = torch.relu(z @ W_in if b_in is None else z @ W_in + b_in)
        logits = scaled_logits(x + hidden @ W_out, W_U, b_logits, scale)
        losses.append(-F.log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).mean())
    return torch.stack(losses)


def _wanted(*tensors: Tensor | None) -> bool:
    """Whether a gradient is needed."""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


class _ReadoutLoss(torch.autograd.Function):
    """The readout loss of one run or of stacked runs, as an autograd function."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, scale, norm, _, wanted = inputs
        alone = tensors[0].ndim == 2
        runs = _Runs(*(t.unsqueeze(0) if alone and t is not None else t for t in tensors))
        plan = Plan(runs.row, runs.order, runs.starts)
        found = (
            loss_and_gradients(*runs[:2], plan, *runs[2:5], runs.labels, scale, norm, runs.b_in, runs.b_logits)
            if wanted
            else (_loss(runs, scale, norm),)
        )
        return tuple(t[0] if alone else t for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.once, ctx.given = inputs[-2], [t is not None for t in inputs[:7]]
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("mean_cross_entropy has no second derivative: differentiate the model's logits instead")
        if grad is None:
            return (None,) * 15
        gradients = iter(ctx.saved_tensors if ctx.once else map(partial(_times, grad), ctx.saved_tensors))
        return *(next(gradients) if given else None for given in ctx.given), *(None,) * 8

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, scale, norm, once, wanted = inputs
        stacked = [_batched_if_given(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=False)]
        out = _ReadoutLoss.apply(*stacked, scale, norm, once, wanted or _wanted(*stacked[:7]))
        return out, (0,) * len(out)


def _times(factor: Float[Tensor, "..."], gradient: Tensor) -> Tensor:
    """Each run's gradient times its factor."""
    return factor.view(*factor.shape, *(1,) * (gradient.ndim - factor.ndim)) * gradient
