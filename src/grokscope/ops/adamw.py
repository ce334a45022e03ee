"""AdamW of stacked runs in place: `optim.adamw.AdamW.update`, which stays the definition, without its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def adamw_(
    weight: Tensor, grad: Tensor, mean: Tensor, square: Tensor, step: Tensor, lr: Tensor, scale: Tensor, **own: Tensor
) -> None:
    """`AdamW.update` of stacked runs [run weight], in place; `grad` is overwritten. The others hold one number per run:
    `step` counts from 1, `lr` is the scheduled rate, `scale` multiplies the gradient, `own` are weight_decay, beta1, beta2 and eps.

    On a GPU `ops.triton.adamw.adamw_` does the same.
    """
    column = {name: number[:, None] for name, number in own.items()}
    beta1, beta2, rate = column["beta1"], column["beta2"], lr[:, None]
    # powers in float64, as in torch.optim: in float32 those of few runs are rounded differently from those of many
    correction1, correction2 = (
        (1 - beta.double() ** step.double()[:, None]).to(weight.dtype) for beta in (beta1, beta2)
    )
    # one operation at a time: a fused one rounds the last few weights of a row differently from the others, and these
    # are not the same weights in every lane
    grad.mul_(scale[:, None])
    mean.mul_(beta1).add_(grad * (1 - beta1))
    square.mul_(beta2).add_(grad.square_().mul_(1 - beta2))
    unbiased = torch.div(square, correction2, out=grad).sqrt_().add_(column["eps"])
    weight.mul_(1 - rate * column["weight_decay"]).sub_((mean * (rate / correction1)).div_(unbiased))


def adamw_alone_(
    weight: Tensor, grad: Tensor, mean: Tensor, square: Tensor, step: Tensor, lr: Tensor, scale: Tensor, **own: Tensor
) -> None:
    """`adamw_` of a single run on a CPU in one pass over its weights, by PyTorch's own kernel. That one is safe for tensors of the
    same strides alone, as these are."""
    torch._fused_adamw_(
        [weight],
        [grad.mul_(scale)],
        [mean],
        [square],
        [],
        [step.to(torch.float32)],
        lr=lr.item(),
        beta1=own["beta1"].item(),
        beta2=own["beta2"].item(),
        weight_decay=own["weight_decay"].item(),
        eps=own["eps"].item(),
        amsgrad=False,
        maximize=False,
    )
