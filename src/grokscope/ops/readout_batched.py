"""The readout loss of stacked runs on a GPU from batched products, for every width, precision and norm.

`ops/triton/readout.py` keeps the hidden layer on chip, which is faster for narrow networks in TF32 and bf16. Here the hidden
layer crosses memory a few times, and the products are cuBLAS's: faster from d = 128 on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from .normalise import Normalise
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor


def stream_loss(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, labels: Tensor, scale: float, norm: Normalise | None,
    b_in: Tensor | None = None, b_logits: Tensor | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """As `ops.readout_stream.loss_and_gradients`. With a norm, x may be overwritten."""
    x, W_in, W_out, W_U = _operands(x, W_in, W_out, W_U)
    classes, W_U = W_U.shape[-1], _aligned(W_U)
    z, slope, hidden, y = _forward(x, W_in, W_out, norm, b_in)
    error = torch.bmm(y, W_U) if scale == 1 else torch.bmm(y, W_U).mul_(scale)
    losses, _ = _errors(error, labels, classes, scale / x.shape[1], True, _scaled(b_logits, scale))
    to_U = _sum(y, error)[..., :classes]
    to_y = torch.bmm(error, W_U.mT)
    to_out = _sum(hidden, to_y)
    to_hidden, to_b_in = _to_hidden(to_y, W_out, hidden, b_in is not None)
    to_in = _sum(z, to_hidden)
    to_b_logits = None if b_logits is None else error[..., :classes].sum(1, dtype=torch.float32)
    found = (losses.mean(1), _to_x(to_y, to_hidden, W_in, z, slope, norm), to_in, to_out, to_U, to_b_in, to_b_logits)
    return tuple(t for t in found if t is not None)


def evaluate_stream(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, labels: Tensor, scale: float, norm: Normalise | None, wanted: bool,
    b_in: Tensor | None = None, b_logits: Tensor | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Cross-entropies, correct answers and, if wanted, the gradient of the former on x. With a norm, x may be overwritten."""
    x, W_in, W_out, W_U = _operands(x, W_in, W_out, W_U)
    classes, W_U = W_U.shape[-1], _aligned(W_U)
    z, slope, hidden, y = _forward(x, W_in, W_out, norm, b_in)
    error = torch.bmm(y, W_U) if scale == 1 else torch.bmm(y, W_U).mul_(scale)
    losses, correct = _errors(error, labels, classes, scale, wanted, _scaled(b_logits, scale))
    if not wanted:
        return losses, correct
    to_y = torch.bmm(error, W_U.mT)
    return losses, correct, _to_x(to_y, _to_hidden(to_y, W_out, hidden, False)[0], W_in, z, slope, norm)


def _forward(
    x: Tensor, W_in: Tensor, W_out: Tensor, norm: Normalise | None, b_in: Tensor | None
) -> tuple[Tensor, Any, Tensor, Tensor]:
    """The MLP's input z, the slope of the norm, hidden units and y, which takes the place of x where z differs from it: otherwise
    x would be copied, since a product is added to what its result already holds."""
    z, slope, hidden = _normed_hidden(x, W_in, norm, b_in)
    return z, slope, hidden, torch.baddbmm(x, hidden, W_out) if norm is None else x.baddbmm_(hidden, W_out)


def _normed_hidden(x: Tensor, W_in: Tensor, norm: Normalise | None, b_in: Tensor | None) -> tuple[Tensor, Any, Tensor]:
    if norm is None:
        return x, None, _hidden(x, W_in, b_in)
    if _fuses_norm(x):
        from .triton.normed_products import normed_relu_product

        return normed_relu_product(x, W_in.mT, norm.kind == "layer", norm.epsilon, b_in)
    z, slope = norm(x)
    return z, slope, _hidden(z, W_in, b_in)


def _hidden(z: Tensor, W_in: Tensor, b_in: Tensor | None) -> Tensor:
    if _fuses(z):
        from .triton.products import relu_product

        return relu_product(z, W_in.mT, b_in)
    if b_in is None:
        return torch.bmm(z, W_in).relu_()
    return torch.bmm(z, W_in).add_(b_in.unsqueeze(1)).relu_()


def _to_x(to_y: Tensor, to_hidden: Tensor, W_in: Tensor, z: Tensor, slope: Any, norm: Normalise | None) -> Tensor:
    if norm is None:
        return to_y.baddbmm_(to_hidden, W_in.mT)
    if _fuses_norm(z):
        from .triton.normed_products import normed_product_backward

        return normed_product_backward(to_hidden, W_in, z, slope, norm.kind == "layer", to_y)
    return norm.backward(torch.bmm(to_hidden, W_in.mT), z, slope, onto=to_y)


def _to_hidden(to_y: Tensor, W_out: Tensor, hidden: Tensor, sums: bool) -> tuple[Tensor, Tensor | None]:
    """The gradient on the hidden units, before the ReLU, and its sum over the examples if it is wanted."""
    if _fuses(to_y):
        from .triton.products import masked_product

        return masked_product(to_y, W_out, hidden, sums)
    grad = torch.bmm(to_y, W_out.mT)
    torch.ops.aten.threshold_backward.grad_input(grad, hidden, 0, grad_input=grad)
    return grad, grad.sum(1, dtype=torch.float32) if sums else None


def _fuses(x: Tensor) -> bool:
    """Whether the ReLU is part of the product: Triton rounds float32 to TF32."""
    rounded = x.dtype == torch.bfloat16 or torch.get_float32_matmul_precision() != "highest"
    return usable_on(x.device) and rounded


def _fuses_norm(x: Tensor) -> bool:
    """Whether the norm is part of the products beside it."""
    if not _fuses(x):
        return False
    from .triton.normed_products import WIDEST

    return x.shape[-1] <= WIDEST


def _aligned(W_U: Tensor) -> Tensor:
    """W_U with columns of zeros up to a multiple of 16: products of other widths are several times slower."""
    return F.pad(W_U, (0, -W_U.shape[-1] % 16)) if W_U.shape[-1] % 16 else W_U


def _scaled(b_logits: Tensor | None, scale: float) -> Tensor | None:
    return b_logits if b_logits is None or scale == 1 else scale * b_logits


def _errors(
    logits: Tensor, labels: Tensor, classes: int, share: float, back: bool, plus: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Losses and correct answers; with `back`, logits become the gradient of `share` times the sum of the losses.

    plus   [run class], added to the logits of every example
    """
    if usable_on(logits.device):
        from .triton.errors import answer_errors_

        return answer_errors_(logits, labels, classes, share, back, plus)
    own_logits = logits[..., :classes].float()
    log = torch.log_softmax(own_logits if plus is None else own_logits + plus.unsqueeze(1), -1)
    own = log.gather(-1, labels[..., None])
    correct = (own >= log.amax(-1, keepdim=True)).float().squeeze(-1)
    if back:
        logits.zero_()[..., :classes] = (
            log.exp_().scatter_add_(-1, labels[..., None], -torch.ones_like(own)).mul_(share)
        )
    return -own.squeeze(-1), correct


def _sum(a: Tensor, b: Tensor) -> Tensor:
    """aᵀ b of each run, in float32."""
    if a.dtype == torch.float32:
        return torch.bmm(a.mT, b)
    return torch.bmm(a.mT, b, out_dtype=torch.float32)


def _operands(*tensors: Tensor) -> tuple[Tensor, ...]:
    """bf16 under autocast, else float32: weights are read where they lie."""
    kind = torch.bfloat16 if torch.is_autocast_enabled(tensors[0].device.type) else torch.float32
    return tuple(t.to(kind) for t in tensors)
