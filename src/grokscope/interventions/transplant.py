"""Weights of another run, put into this one at the branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from ..settings import require
from ..tickets.base import Part
from .base import Intervention, Parameters, Tensors, in_parts, interventions, require_parts
from .branch import When

if TYPE_CHECKING:
    from ..config import RunConfig


@interventions.register("transplant")
@dataclass(frozen=True, kw_only=True)
class Transplant(Intervention):
    """The weights of some parts are replaced, at the branch, by those of another run at one of its checkpoints."""

    run: str = ""
    """Id of the donor; it must have the same weights by name and shape."""
    epoch: int | When = "last"
    """Epoch of the donor's checkpoint, as in `branch.epoch`."""
    parts: tuple[Part, ...] = ("attention",)
    """Parts that are transplanted."""
    strength: float = 1.0
    """Share of the donor's weights; the rest are the run's own."""
    continues: Literal["donor", "own"] = "donor"
    """Whose optimizer state the transplanted weights continue with."""

    HOST: ClassVar[tuple[str, ...]] = ("run", "epoch", "parts", "strength", "continues")
    needs_branch: ClassVar[bool] = True

    def check(self) -> None:
        require(self.run != "", "run", "a transplant needs the id of its donor")
        require(0 < self.strength <= 1, "strength", f"{self.strength} is outside (0, 1]")
        require(not isinstance(self.epoch, int) or self.epoch >= 0, "epoch", f"{self.epoch} is below 0")

    def check_run(self, config: RunConfig) -> None:
        require_parts(config.model.parameters(config.task.shape), self.parts, config.model.kind)

    def donors(self) -> dict[str, tuple[str, int | str]]:
        return {"run": (self.run, self.epoch)}

    def graft(self, tensors: Tensors, donors: Mapping[str, Tensors], parameters: Parameters, path: str = "") -> Tensors:
        donor, new = donors[f"{path}run"], dict(tensors)
        names = set(in_parts(parameters, self.parts))
        for key, own in tensors.items():
            component, _, name = key.partition("/")
            if component == "weight" and name in names:
                new[key] = own + self.strength * (donor[key] - own) if self.strength < 1 else donor[key]
            elif component in ("optim", "filter") and name.rpartition("/")[2] in names and self.continues == "donor":
                new[key] = donor.get(key, own)
        return new
