"""What was made of the run that was loaded last: the next one may have the same data or weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from .lane_state import LaneState


@dataclass
class LastRun:
    """Kept by a fleet: on a CPU every run has a program of its own."""

    form: Any = None
    """What else the results depend on: how a program reads data, and the layout of its weights."""
    made: dict[tuple[int, str], tuple[Tensor, int, Any]] = field(default_factory=dict)
    """Data of the run, how often they had been written to, and what was made of them."""
    begun: tuple[Any, LaneState] | None = None
    """Model and seed of the run that began last, and its weights."""

    def enter(self, form: Any) -> None:
        """Called by a program; what was made for one of another form is given up."""
        if form != self.form:
            self.form, self.made, self.begun = form, {}, None

    def once(self, number: int, name: str, tensor: Tensor, make: Callable[[Tensor], Any]) -> Any:
        """`make(tensor)`, or what it returned for the run before, if that had this very tensor."""
        known = self.made.get((number, name))
        if known is None or known[0] is not tensor or known[1] != tensor._version:
            known = self.made[number, name] = (tensor, tensor._version, make(tensor))
        return known[2]
