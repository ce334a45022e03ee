"""Readout loss and evaluation from the residual stream x, on a GPU.

The network behind x is that of `readout_loss.py`. x itself is a weighted look-up of values (`lookup.pool_heads`), or several of
them mixed by W_O; autograd takes the gradient on x from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float, Int
from . import readout_batched
from .lookup import _batched_if_given
from .normalise import Normalise

if TYPE_CHECKING:
    from torch import Tensor


def mean_cross_entropy(
    x: Float[Tensor, "... example d"],
    W_in: Float[Tensor, "... d hidden"],
    W_out: Float[Tensor, "... hidden d"],
    W_U: Float[Tensor, "... d class"],
    labels: Int[Tensor, "... example"],
    scale: float,
    norm: Normalise | None,
    b_in: Float[Tensor, "... hidden"] | None = None,
    b_logits: Float[Tensor, "... class"] | None = None,
) -> Float[Tensor, "..."]:
    """The mean cross-entropy of one run, or of each of several stacked runs; assumed to enter the objective with weight 1. With a
    norm, x may be overwritten."""
    loss: Tensor = _Loss.apply(x, W_in, W_out, W_U, b_in, b_logits, labels, scale, norm)[0]
    return loss


def evaluate(
    x: Float[Tensor, "example d"],
    W_in: Float[Tensor, "d hidden"],
    W_out: Float[Tensor, "hidden d"],
    W_U: Float[Tensor, "d class"],
    labels: Int[Tensor, "example"],
    scale: float,
    norm: Normalise | None,
    b_in: Float[Tensor, "hidden"] | None = None,
    b_logits: Float[Tensor, "class"] | None = None,
) -> tuple[Float[Tensor, "example"], Float[Tensor, "example"]]:
    """Cross-entropy of each answer, and 1 where it is correct. The first has a gradient on x only. With a norm, x may be
    overwritten."""
    wanted = torch.is_grad_enabled() and x.requires_grad
    loss, correct, *_ = _Evaluate.apply(x, W_in, W_out, W_U, b_in, b_logits, labels, scale, norm, wanted)
    return loss, correct


def loss_and_gradients(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, b_in: Tensor | None, b_logits: Tensor | None,
    labels: Tensor, scale: float, norm: Normalise | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The loss of each of stacked runs and its gradients: x, W_in, W_out, W_U, and of the biases that are given."""
    if on_chip(x, W_U, b_in, b_logits, norm):
        from .triton.readout import stream_loss as on_gpu

        return on_gpu(x, W_in, W_out, W_U, labels, scale)
    return readout_batched.stream_loss(x, W_in, W_out, W_U, labels, scale, norm, b_in, b_logits)


def on_chip(x: Tensor, W_U: Tensor, b_in: Tensor | None, b_logits: Tensor | None, norm: Normalise | None) -> bool:
    """Whether `ops/triton/readout.py` can compute this network: narrow, without a norm and biases, with rounded products."""
    if not x.is_cuda or norm is not None or b_in is not None or b_logits is not None:
        return False
    bf16 = torch.is_autocast_enabled("cuda")
    if not bf16 and torch.get_float32_matmul_precision() == "highest":
        return False
    from .triton.readout import fits

    return fits(x.shape[-1], W_U.shape[-1], "bf16" if bf16 else "tf32", x.device)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, scale, norm = inputs
        alone = tensors[0].ndim == 2
        x, W_in, W_out, W_U, b_in, b_logits, labels = (
            t.unsqueeze(0) if alone and t is not None else t for t in tensors
        )
        found = loss_and_gradients(x, W_in, W_out, W_U, b_in, b_logits, labels, scale, norm)
        return tuple(t[0] if alone else t for t in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.given = [t is not None for t in inputs[:6]]
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("mean_cross_entropy has no second derivative: differentiate the model's logits instead")
        if grad is None:
            return (None,) * 9
        gradients = iter(ctx.saved_tensors)
        return *(next(gradients) if given else None for given in ctx.given), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, scale, norm = inputs
        stacked = [_batched_if_given(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=False)]
        out = _Loss.apply(*stacked, scale, norm)
        return out, (0,) * len(out)


class _Evaluate(torch.autograd.Function):
    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, scale, norm, wanted = inputs
        alone = tensors[0].ndim == 2
        x, W_in, W_out, W_U, b_in, b_logits, labels = (
            t.unsqueeze(0) if alone and t is not None else t for t in tensors
        )
        if on_chip(x, W_U, b_in, b_logits, norm):
            from .triton.readout import evaluate_stream as on_gpu

            found = on_gpu(x, W_in, W_out, W_U, labels, scale, wanted)
        else:
            found = readout_batched.evaluate_stream(x, W_in, W_out, W_U, labels, scale, norm, wanted, b_in, b_logits)
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
                "evaluate has a gradient with respect to x only: differentiate the model's logits instead"
            )
        (to_x,) = ctx.saved_tensors
        return None if grad is None else grad.to(to_x.dtype)[..., None] * to_x, *(None,) * 9

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, scale, norm, wanted = inputs
        stacked = [_batched_if_given(info.batch_size, t, dim) for t, dim in zip(tensors, in_dims, strict=False)]
        x = stacked[0]
        wanted = wanted or (torch.is_grad_enabled() and x is not None and x.requires_grad)
        out = _Evaluate.apply(*stacked, scale, norm, wanted)
        return out, (0,) * len(out)
