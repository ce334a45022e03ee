"""A KL prior towards a hypothesis: the tokens of a support, whether or not they matter. Search races such priors."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..supports.base import check_units, family, mask_of
from ..theory import oracle_target
from .base import priors
from .kl import TargetKL

if TYPE_CHECKING:
    from torch import Tensor

    from ..tasks import Examples, Task


@priors.register("support")
@dataclass(frozen=True, kw_only=True)
class SupportKL(TargetKL):
    """β · KL(α*‖α), where α* is uniform over the tokens of a support; over all tokens in an example without any of them."""

    family: str = "positions"
    """How tokens are chosen: positions, relative (to the query), classes (of symbols), after (a marker)."""
    units: tuple[int, ...] = (0,)
    """The units of the family that make up the support, e.g. positions 0 and 3."""

    HOST: ClassVar[tuple[str, ...]] = ("family", "units")
    needs_informative: ClassVar[bool] = False

    def check_task(self, task: Task) -> None:
        shape = task.shape
        check_units(self.family, self.units, shape.length, shape.vocabulary)

    def target_for(self, examples: Examples, seed: int) -> Tensor:
        tokens = examples.inputs
        if family(self.family).same_places:
            return _of_places(self.family, self.units, tokens.shape[1]).expand(tokens.shape)
        return _target(self.family, self.units, tokens)


def _target(kind: str, units: tuple[int, ...], tokens: Tensor) -> Tensor:
    mask = mask_of(kind, units, tokens)
    return oracle_target(mask | ~mask.any(1, keepdim=True))


@functools.lru_cache(maxsize=4096)  # a search has thousands of candidates, and asks again at every rung
def _of_places(kind: str, units: tuple[int, ...], length: int) -> Tensor:
    """The target of any example, where it is the same in all; nobody may write to it."""
    return _target(kind, units, torch.zeros(1, length, dtype=torch.long))
