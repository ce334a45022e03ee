"""What a run in a lane needs to continue, as it leaves the lane and enters another one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from .layout import Layout


class LaneState(Mapping[str, "Tensor"]):
    """The saved tensors of a run by name, such as weight/W_Q or optim/mean/W_Q.

    Vectors with a number per weight are cut into weights only when somebody asks for them: most candidates of a search are dropped,
    or loaded into another lane, before anyone does.
    """

    def __init__(self, layout: Layout, vectors: dict[str, Tensor], others: dict[str, Tensor], masks: dict[str, Tensor]):
        """
        vectors   [weight] by prefix, such as weight or optim/mean
        others    everything else that is saved, by its whole name
        masks     True where a weight is kept, by parameter; none for a parameter that is kept entirely
        """
        self.vectors, self.others, self.masks = vectors, others, masks
        self._layout = layout

    @property
    def nbytes(self) -> int:
        each = (self.vectors, self.others, self.masks)
        return sum(tensor.nbytes for some in each for tensor in some.values())

    @functools.cached_property
    def _named(self) -> dict[str, Tensor]:
        parts = ((prefix, self._layout.cut(vector)) for prefix, vector in self.vectors.items())
        named = {f"{prefix}/{name}": part for prefix, own in parts for name, part in own.items()}
        return named | self.others | {f"mask/{name}": mask for name, mask in self.masks.items()}

    def __getitem__(self, name: str) -> Tensor:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self.vectors) * len(self._layout.parameters) + len(self.others) + len(self.masks)
