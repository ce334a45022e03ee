"""Base class of families of supports. A family has units (a position, a symbol, …); each unit gives a mask for every example, and a
support is a set of units: its mask is the union of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ..errors import ConfigError
from ..registry import Registry
from ..shapes import Bool, Int

if TYPE_CHECKING:
    from torch import Tensor

supports: Registry[type[Support]] = Registry("support", "grokscope.supports")

Unit = int


class Support:
    """Base of all families; a subclass defines the units that sequences have, and the mask of one unit."""

    kind: str = ""
    unit: str = "unit"
    """What a unit is, for messages and tables."""
    same_places: bool = False
    """Whether a unit is the same places in every example, so that the mask of one is that of all."""

    def units(self, tokens: Int[Tensor, "example position"]) -> list[Unit]:
        """The units that a search may choose from, given the training sequences; the query is none of them."""
        raise NotImplementedError

    def mask(self, tokens: Int[Tensor, "example position"], unit: Unit) -> Bool[Tensor, "example position"]:
        """True where the tokens of each example belong to the unit."""
        raise NotImplementedError

    def problem(self, length: int, vocabulary: int, unit: Unit) -> str:
        """Why there is no such unit in sequences of this length and vocabulary; empty if there is."""
        raise NotImplementedError

    def name(self, units: Sequence[Unit]) -> str:
        """A support in words."""
        return f"{self.unit} {' + '.join(map(str, units))}"


def family(kind: str) -> Support:
    """A family by name; the setting that holds it is called `family`."""
    try:
        return supports.get(kind)()
    except ConfigError as error:
        raise ConfigError("family", error.problem) from None


def mask_of(
    kind: str, units: Sequence[Unit], tokens: Int[Tensor, "example position"]
) -> Bool[Tensor, "example position"]:
    """The union of the masks of the units. The query never belongs to a support."""
    own = family(kind)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    for unit in units:
        mask |= own.mask(tokens, unit)
    mask[:, -1] = False
    return mask


def check_units(kind: str, units: Sequence[Unit], length: int, vocabulary: int) -> None:
    """Raise ConfigError for a support that sequences of this length and vocabulary cannot have."""
    if not units:
        raise ConfigError("units", "a support needs at least one unit")
    if len(set(units)) != len(units):
        raise ConfigError("units", f"{list(units)} names a unit twice")
    own = family(kind)
    for unit in units:
        if problem := own.problem(length, vocabulary, unit):
            raise ConfigError("units", problem)
