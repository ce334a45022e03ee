"""How to describe a time that a run did not reach: "never" only if it was trained to its last epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

ENDS = {
    "running": "still running",
    "stopped": "stopped",
    "failed": "failed",
    "grokked": "ended by the stop rule",
    "diverged": "diverged",
}
"""Why a run has no later evaluation, by its status, unless its last epoch was trained."""


def unreached(status: str, epoch: int, reached: str = "") -> str:
    """A clause for a sentence: `never by epoch 400`, `not by epoch 400 (stopped)`, `not by epoch 400 (diverged)`.

    status    that of the run; empty where it is not known
    epoch     the last one that was evaluated
    reached   a verb for it: `never grokked by epoch 400`
    """
    never = "never" if status == "done" else "not"
    words = f"{never} {reached} by" if reached else f"{never} by"
    return f"{words} epoch {epoch:,}" + (f" ({ENDS[status]})" if status in ENDS else "")


def unreached_word(status: str) -> str:
    """The same for a cell of a table that also has the status and the last epoch."""
    return {"done": "never", "diverged": "diverged", "failed": "failed", "damaged": "–"}.get(status, "not yet")


def unfinished(statuses: Iterable[str]) -> str:
    """`, 2 stopped, 1 diverged`: how many runs were not trained to their last epoch, and why; empty if all were."""
    counts = Counter(ENDS[status] for status in statuses if status in ENDS)
    return "".join(f", {count} {end}" for end, count in counts.items())
