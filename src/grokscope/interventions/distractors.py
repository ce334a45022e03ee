"""Distractors drawn anew in mid-run: what was memorised through them is of no use any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import require
from .base import Now, Tensors, Timed, interventions
from .labels import key_of

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig


@interventions.register("distractors")
@dataclass(frozen=True, kw_only=True)
class Distractors(Timed):
    """A fraction of the training set's distractors is replaced by others of the same alphabet; it is measured on the old ones."""

    strength: float = 1.0
    """Fraction of the distractors."""
    redraw: Literal["once", "every-step"] = "once"
    """Whether they are drawn once for the whole window, or anew at every step."""

    LANES: ClassVar[tuple[str, ...]] = (*Timed.LANES, "strength")

    def check(self) -> None:
        super().check()
        require(0 <= self.strength <= 1, "strength", f"{self.strength} is outside [0, 1]")

    def check_run(self, config: RunConfig) -> None:
        symbols = getattr(config.task, "distractor_symbols", range(0))
        has = len(symbols) > 0 and config.task.knows_informative
        require(has, "kind", f"task {config.task.kind} has no distractors to resample")
        whole = self.redraw == "every-step" or not config.batch_size
        require(whole, "redraw", "distractors drawn once need the full batch: set batch_size = 0")

    @property
    def reads_tokens(self) -> bool:
        return True

    def batch(self, batch: Tensors, now: Now, symbols: tuple[Tensor, Tensor], classes: int) -> Tensors:
        key, tokens = key_of(now, self.redraw), batch["tokens"]
        first, count = symbols
        shape = tuple(tokens.shape)
        chosen = self.active(now) & ~batch["informative"] & (key.uniform("resampled places", shape) < self.strength)
        chosen = chosen & (torch.arange(shape[-1], device=tokens.device) < shape[-1] - 1)  # the last token is the query
        drawn = torch.minimum((key.uniform("new distractors", shape) * count).floor(), count - 1) + first
        return batch | {"tokens": torch.where(chosen, drawn.to(tokens.dtype), tokens)}
