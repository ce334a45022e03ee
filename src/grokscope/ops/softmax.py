"""A softmax and its logarithm on a GPU, with one kernel for the gradient that comes from both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..shapes import Float

if TYPE_CHECKING:
    from torch import Tensor


def softmax_and_log(
    logits: Float[Tensor, "... position"],
) -> tuple[Float[Tensor, "... position"], Float[Tensor, "... position"]]:
    """log softmax(ℓ) and softmax(ℓ)."""
    log, softmax = _Softmax.apply(logits)
    return log, softmax


def _as_one(tensor: Tensor) -> Float[Tensor, "1 example position"]:
    """All softmaxes as those of one run."""
    return tensor.reshape(1, -1, tensor.shape[-1])


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(logits: Tensor) -> Any:
        log = torch.log_softmax(logits, -1)
        return log, log.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, to_log: Tensor | None, to_softmax: Tensor | None) -> Any:
        (softmax,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # for a second derivative
            total = torch.zeros_like(softmax) if to_log is None else to_log
            total = total if to_softmax is None else total + softmax * to_softmax
            return total - softmax * total.sum(-1, keepdim=True)
        from .triton.read_softmax import read_softmax_backward

        from_softmax, from_log = (None if t is None else _as_one(t) for t in (to_softmax, to_log))
        found = read_softmax_backward(_as_one(softmax), from_softmax, from_log, None)
        return None if found is None else found.view(softmax.shape)

    @staticmethod
    def vmap(info: Any, in_dims: Any, logits: Tensor) -> Any:
        return _Softmax.apply(logits.movedim(in_dims[0], 0)), (0, 0)
