"""All weights of a run as one vector, and the position of each weight in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Parameter


class Layout:
    """Cuts a vector (or a stack of vectors) into named weights, and joins them again."""

    def __init__(self, parameters: dict[str, Parameter]):
        self.parameters = parameters
        self.size = 0
        self._cuts: dict[str, tuple[int, int]] = {}
        for name, parameter in parameters.items():
            end = self.size + math.prod(parameter.shape)
            self._cuts[name] = (self.size, end)
            self.size = end

    def cut(self, vector: Tensor) -> dict[str, Tensor]:
        """Views [..., *shape] into a vector [..., size]."""
        return {
            name: vector[..., begin:end].unflatten(-1, self.parameters[name].shape)
            for name, (begin, end) in self._cuts.items()
        }

    def join(self, weights: dict[str, Tensor]) -> Tensor:
        """The vector [..., size] of weights [..., *shape]."""
        flat = [weights[name].flatten(-len(p.shape)) for name, p in self.parameters.items()]
        return torch.cat(flat, -1)
