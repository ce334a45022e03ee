"""Small tools of stacked programs: a scalar with a given gradient, and functions of every tensor in a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor


class WithGradient(torch.autograd.Function):
    """A scalar with the gradient of Σ tensor · factor; its value is not computed. Given factors, `torch.autograd.grad` does the
    same, but imports SymPy to compare shapes, which takes a second at every start."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors[count:])
        return tensors[0].new_empty(())

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        return None, *ctx.saved_tensors, *(None for _ in ctx.saved_tensors)


def mapped(change: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """Apply `change` to every tensor in nested dicts and tuples."""
    if isinstance(tree, dict):
        return {name: mapped(change, part) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(mapped(change, part) for part in tree)
    return None if tree is None else change(tree)
