"""Random numbers from counters on a GPU: those of `randomness.Key` in one kernel instead of dozens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

Words = tuple[int, ...]
MOST_WORDS = 4
"""Words that the kernel takes."""


def hashed(seed: Tensor, step: Tensor, words: Words, shape: tuple[int, ...], normal: bool) -> Tensor:
    """Uniform or standard normal numbers of one run, or of each of stacked runs.

    words   those of the purposes, one to MOST_WORDS
    """
    found: Tensor = _Hashed.apply(seed, step, words, shape, normal)
    return found


class _Hashed(torch.autograd.Function):
    @staticmethod
    def forward(seed: Tensor, step: Tensor, words: Words, shape: tuple[int, ...], normal: bool) -> Tensor:
        from .triton.hashed import draw

        seed, step = torch.broadcast_tensors(seed.long(), step.long())
        return draw(seed.reshape(-1), step.reshape(-1), words, shape, normal).view((*seed.shape, *shape))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return None, None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, seed: Tensor, step: Tensor, words: Words, shape: tuple[int, ...], normal: bool
    ) -> Any:
        both = (t if dim is None else t.movedim(dim, 0) for t, dim in zip((seed, step), in_dims, strict=False))
        return _Hashed.apply(*both, words, shape, normal), 0
