"""All weights of a run as one vector, and the position of each weight in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Parameter


class Layout:
    """Cuts a vector (or a stack of vectors) into named weights, and joins them again."""

    def __init__(self, parameters: dict[str, Parameter]):
        self.parameters = parameters
        self._shapes = {name: torch.Size(parameter.shape) for name, parameter in parameters.items()}
        self._sizes = [math.prod(shape) for shape in self._shapes.values()]
        self.size = sum(self._sizes)

    def cut(self, vector: Tensor) -> dict[str, Tensor]:
        """Views [..., *shape] into a vector [..., size]."""
        parts = torch.split_with_sizes(vector, self._sizes, -1)
        lead = vector.shape[:-1]
        return {name: part.view(*lead, *shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}

    def whole(self, parts: Mapping[str, Tensor]) -> Tensor | None:
        """The vector [size] that these weights were cut from, if they were: it can be copied as one."""
        first = next((parts[name] for name in self._shapes if name in parts), None)
        if first is None or parts.keys() < self._shapes.keys():
            return None
        memory, offset = first.untyped_storage().data_ptr(), first.storage_offset()
        for (name, shape), size in zip(self._shapes.items(), self._sizes, strict=True):
            part = parts[name]
            there = part.untyped_storage().data_ptr() == memory and part.storage_offset() == offset
            if not there or part.shape != shape or part.dtype != first.dtype or not part.is_contiguous():
                return None
            offset += size
        return first.as_strided((self.size,), (1,))

    def join(self, weights: dict[str, Tensor]) -> Tensor:
        """The vector [..., size] of weights [..., *shape]."""
        flat = [weights[name].flatten(-len(p.shape)) for name, p in self.parameters.items()]
        return torch.cat(flat, -1)
