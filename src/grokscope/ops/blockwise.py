"""A sum over blocks of examples with its gradient on the weights, each block computed by whichever core of a CPU is idle.

The gradients of the blocks are added in a fixed order, so that the bits do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from ..shapes import Float
from .team import each_block

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


def sum_over_blocks(
    function: Callable[[dict[str, Tensor], T], Float[Tensor, ""]], weights: dict[str, Tensor], blocks: Sequence[T]
) -> Float[Tensor, ""]:
    """Σ_b function(weights, b), which has no second derivative. `function` is called in several threads."""
    names = tuple(weights)

    def of_block(values: Sequence[Tensor], block: T) -> Tensor:
        return function(dict(zip(names, values, strict=True)), block)

    total: Tensor = _SumOverBlocks.apply(of_block, blocks, *weights.values())
    return total


class _SumOverBlocks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Callable[..., Tensor], blocks: Sequence[Any], *weights: Tensor) -> Tensor:
        sums: list[Tensor] = [weights[0]] * len(blocks)
        gradients: list[tuple[Tensor, ...]] = [()] * len(blocks)

        @torch.enable_grad()
        def work(block: int) -> None:
            own = [weight.detach().requires_grad_() for weight in weights]
            value = function(own, blocks[block])
            gradients[block] = torch.autograd.grad(value, own, allow_unused=True, materialize_grads=True)
            sums[block] = value.detach()

        each_block(work, len(blocks))
        total, *others = gradients
        for found in others:
            for whole, part in zip(total, found, strict=True):
                whole.add_(part)
        ctx.save_for_backward(*total)
        return torch.stack(sums).sum()

    @staticmethod
    def backward(ctx: Any, factor: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("sum_over_blocks has no second derivative: sum over the examples instead")
        gradients = ctx.saved_tensors
        return None, None, *(gradients if factor.item() == 1 else (factor * gradient for gradient in gradients))
