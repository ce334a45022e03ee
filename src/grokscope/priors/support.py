"""A KL prior towards a hypothesis: the tokens of a support, whether or not they matter. Search races such priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

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
        # a search has thousands of candidates: what all examples share is computed once
        mask = mask_of(self.family, self.units, tokens[:1] if family(self.family).same_places else tokens)
        return oracle_target(mask | ~mask.any(1, keepdim=True)).expand(tokens.shape)
