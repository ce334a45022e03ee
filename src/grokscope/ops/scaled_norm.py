"""A norm of vectors with a gain and a bias of its own, g ⊙ N(x) + b, on a GPU: one kernel, and one for all its gradients.

From single operations it crosses memory some ten times forward, and more often backward. `models.parts.norm` is the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float
from .lookup import _batched_if_given
from .normalise import Normalise

if TYPE_CHECKING:
    from torch import Tensor


def scaled_norm(
    x: Float[Tensor, "... d"], norm: Normalise, gain: Float[Tensor, "d"] | None, bias: Float[Tensor, "d"] | None
) -> Float[Tensor, "... d"]:
    """g ⊙ N(x) + b of one run, without a gain or a bias that is not given; bf16 under autocast, since products read it."""
    found: Tensor = _ScaledNorm.apply(x, gain, bias, norm)
    return found


def plain_norm(x: Tensor, norm: Normalise, gain: Tensor | None, bias: Tensor | None) -> Tensor:
    """The same from operations with derivatives of every order."""
    z = norm.plain(x)[0]
    z = z if gain is None else gain * z
    return z if bias is None else z + bias


def _by_run(x: Tensor, *vectors: Tensor | None) -> Float[Tensor, "run row d"]:
    """The vectors of each run: there are as many runs as gains or biases."""
    runs = next((vector.numel() // vector.shape[-1] for vector in vectors if vector is not None), 1)
    return x.reshape(runs, -1, x.shape[-1])


def _flat(vector: Tensor | None) -> Float[Tensor, "run d"] | None:
    return None if vector is None else vector.reshape(-1, vector.shape[-1])


class _ScaledNorm(torch.autograd.Function):
    """Of one run; or of stacked runs, whose axes come first in x, gain and bias alike."""

    @staticmethod
    def forward(x: Tensor, gain: Tensor | None, bias: Tensor | None, norm: Normalise) -> Tensor:
        from .triton.scaled_norm import scaled_norm as on_gpu

        kind = torch.bfloat16 if torch.is_autocast_enabled(x.device.type) else torch.float32
        rows = _by_run(x, gain, bias)
        return on_gpu(rows, _flat(gain), _flat(bias), norm.kind == "layer", norm.epsilon, kind).view(x.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, gain, bias, ctx.norm = inputs
        ctx.biased = bias is not None
        ctx.save_for_backward(x, gain, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, gain, bias = ctx.saved_tensors
        if torch.is_grad_enabled():  # for a second derivative
            return *_plain_backward(grad.to(torch.float32), x, gain, bias, ctx.norm), None
        from .triton.scaled_norm import scaled_norm_backward

        rows = _by_run(x, gain, bias)
        to_x, to_gain, to_bias = scaled_norm_backward(
            grad.reshape(rows.shape), rows, _flat(gain), ctx.biased, ctx.norm.kind == "layer", ctx.norm.epsilon
        )
        to_gain, to_bias = (
            None if to is None or of is None else to.view(of.shape) for to, of in ((to_gain, gain), (to_bias, bias))
        )
        return to_x.view(x.shape), to_gain, to_bias, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, gain: Tensor | None, bias: Tensor | None, norm: Normalise) -> Any:
        stacked = [_batched_if_given(info.batch_size, t, dim) for t, dim in zip((x, gain, bias), in_dims, strict=False)]
        return _ScaledNorm.apply(*stacked, norm), 0


def _plain_backward(
    grad: Tensor, x: Tensor, gain: Tensor | None, bias: Tensor | None, norm: Normalise
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    rows, push = _by_run(x.float(), gain, bias), _by_run(grad, gain, bias)
    z, slope = norm.plain(rows)
    to_z = push if gain is None else push * gain.reshape(-1, 1, gain.shape[-1])
    to_gain = None if gain is None else (push * z).sum(1).view(gain.shape)
    to_bias = None if bias is None else push.sum(1).view(bias.shape)
    return norm.plain_backward(to_z, z, slope).view(x.shape).to(x.dtype), to_gain, to_bias
