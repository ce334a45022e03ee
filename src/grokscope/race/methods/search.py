"""The search of supports: hypotheses about which tokens matter are raced, and all their steps count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..space import Space
from .base import Method, accelerators

if TYPE_CHECKING:
    from ...config import RunConfig


@accelerators.register("search")
class Search(Method):
    """The search of supports (`grokscope search`): finds the tokens itself; the steps of all candidates count."""

    title = "search"
    settings: ClassVar[dict[str, Any]] = {
        "task.validation": 0.1,
        "task.confirmation": 0.05,
        "stop.accuracy": 1e-6,
        "stop.window": 0,
    }
    """The run only carries the settings and stops at its first evaluation: the search is made after it. A tenth
    and a twentieth of the training examples are set aside, so that its candidates train on fewer."""
    space: ClassVar[Space] = {}
    inherits = "adamw"
    uncontrolled = "It is this package's own; see the experiments search-…"

    def applies(self, base: RunConfig) -> str:
        if not base.model.has_attention:
            return f"model: {base.model.kind} has no attention: a search compares priors on attention"
        distractors, alphabet = (getattr(base.task, name, 0) for name in ("distractors", "alphabet"))
        if not distractors or alphabet == 1:
            return "task.distractors: there are none to tell from operands, or they are constant"
        return super().applies(base)
