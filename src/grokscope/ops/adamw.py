"""AdamW of stacked runs in place: `optim.adamw.AdamW.update`, which stays the definition, without its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .clipping import clip_scale

if TYPE_CHECKING:
    from torch import Tensor


def adamw_(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    before: Tensor,
    lr: Tensor,
    norm: Tensor,
    clip: Tensor,
    **own: Tensor,
) -> None:
    """Clipping and `AdamW.update` of stacked runs [run weight], in place; `grad` is overwritten. The others hold one number per
    run: `before` counts the steps before this one, `lr` is the scheduled rate, `norm` that of the gradient, `own` are weight_decay,
    beta1, beta2 and eps.

    On a GPU `ops.triton.adamw.adamw_` does the same.
    """
    update = run_by_run_ if weight.device.type == "cpu" else stacked_
    update(weight, grad, mean, square, before + 1, lr, clip_scale(norm, clip), own)


def run_by_run_(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    step: Tensor,
    lr: Tensor,
    scale: Tensor,
    own: dict[str, Tensor],
) -> None:
    """One pass over the weights of each run, by PyTorch's kernel for a CPU. The kernel rounds the last few numbers of a vector
    differently from the others: with one vector per run, these are the same weights in every lane. It needs tensors with the
    same strides, as these have."""
    numbers = {name: values.tolist() for name, values in own.items()}
    steps, rates = step.to(torch.float32), lr.tolist()
    grad.mul_(scale[:, None])
    for run, rate in enumerate(rates):
        torch._fused_adamw_(
            [weight[run]],
            [grad[run]],
            [mean[run]],
            [square[run]],
            [],
            [steps[run]],
            lr=rate,
            beta1=numbers["beta1"][run],
            beta2=numbers["beta2"][run],
            weight_decay=numbers["weight_decay"][run],
            eps=numbers["eps"][run],
            amsgrad=False,
            maximize=False,
        )


def stacked_(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    step: Tensor,
    lr: Tensor,
    scale: Tensor,
    own: dict[str, Tensor],
) -> None:
    """All runs at once, without reading a number back from the device."""
    column = {name: number[:, None] for name, number in own.items()}
    beta1, beta2, rate = column["beta1"], column["beta2"], lr[:, None]
    # powers in float64, as in torch.optim
    correction1, correction2 = (
        (1 - beta.double() ** step.double()[:, None]).to(weight.dtype) for beta in (beta1, beta2)
    )
    grad.mul_(scale[:, None])
    mean.mul_(beta1).add_(grad * (1 - beta1))
    square.mul_(beta2).add_(grad.square_().mul_(1 - beta2))
    unbiased = torch.div(square, correction2, out=grad).sqrt_().add_(column["eps"])
    weight.mul_(1 - rate * column["weight_decay"]).sub_((mean * (rate / correction1)).div_(unbiased))
