"""Random numbers from counters on a GPU: those of `randomness.Key` in one kernel instead of thirty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor


def hashed(word: Tensor, shape: tuple[int, ...], normal: bool) -> Tensor:
    """Uniform or standard normal numbers from one word, or from each word of stacked runs."""
    found: Tensor = _Hashed.apply(word, shape, normal)
    return found


class _Hashed(torch.autograd.Function):
    @staticmethod
    def forward(word: Tensor, shape: tuple[int, ...], normal: bool) -> Tensor:
        from .triton.hashed import draw

        return draw(word.reshape(-1), shape, normal).view((*word.shape, *shape))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, word: Tensor, shape: tuple[int, ...], normal: bool) -> Any:
        return _Hashed.apply(word.movedim(in_dims[0], 0), shape, normal), 0
