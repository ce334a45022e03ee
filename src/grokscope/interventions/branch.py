"""Where a branch starts: a checkpoint of another run, optimizer state included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..settings import Settings, require

When = Literal["last", "t_mem", "t_grok", "plateau"]


@dataclass(frozen=True, kw_only=True)
class Branch(Settings):
    """The run and the checkpoint that this one starts from; none by default."""

    run: str = ""
    """Id of the parent; it must have the same task, weights and optimizer state."""
    epoch: int | When = "last"
    """Epoch of its checkpoint (keep some with log.keep). t_mem and t_grok take the first one kept at or after that time; plateau
    the one nearest to the middle between t_mem and t_grok, or the last epoch of a parent that did not grok."""

    HOST: ClassVar[tuple[str, ...]] = ("run", "epoch")

    def check(self) -> None:
        require(not isinstance(self.epoch, int) or self.epoch >= 0, "epoch", f"{self.epoch} is below 0")
        require(self.run != "" or self == Branch(), "run", "a branch needs the id of its parent")

    def identity(self) -> dict[str, Any]:
        return super().identity() if self.run else {}
