"""Attention clamped in mid-run: is it structure that a run on the plateau waits for?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..settings import require
from ..theory import oracle_target, uniform_target
from .base import Now, Timed, interventions

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tasks import Examples


@interventions.register("clamp")
@dataclass(frozen=True, kw_only=True)
class Clamp(Timed):
    """Attention (of the last layer) is replaced by given weights, in training and evaluation; W_Q and W_K get no gradient."""

    to: Literal["oracle", "branch", "uniform"] = "oracle"
    """The oracle's weights; those of the network at the branch, for each example and head; or equal weights at all positions."""

    @property
    def clamps_to_branch(self) -> bool:
        return self.to == "branch"

    @property
    def needs_branch(self) -> bool:  # type: ignore[override]
        return self.clamps_to_branch

    def check_run(self, config: RunConfig) -> None:
        task = f"task {config.task.kind}"
        require(config.model.has_attention, "kind", f"model {config.model.kind} has no attention to clamp")
        require(
            not config.task.shape.every_position, "kind", f"{task} has a loss at every position: clamp is at the query"
        )
        known = self.to == "branch" or config.task.knows_informative
        require(known, "to", f'{task} has no informative-token labels; take to = "branch"')
        learned = config.constraint.attention == "learned"
        require(learned, "kind", f"attention is frozen already: constraint.attention = {config.constraint.attention!r}")

    def structure(self) -> dict[str, Any]:
        return {"kind": self.kind, "at times": self.clamps_at_times, "by head": self.to == "branch"}

    def clamp(self, examples: Examples, at_branch: Callable[[Examples], Tensor] | None) -> Tensor | None:
        if self.to == "branch":
            assert at_branch is not None, "attention is clamped to that of the branch, which is not given"
            return at_branch(examples)
        return oracle_target(examples.marked) if self.to == "oracle" else uniform_target(examples.marked)

    @property
    def clamps_at_times(self) -> bool:
        return bool(self.start or self.end)

    def clamped(self, now: Now) -> Tensor:
        return self.active(now)
