"""What the experiments about causes share: the dial of distractors, the branch on the plateau, and the clock that starts there.

All arms of a seed branch from one run at epoch 1,000. In stored runs t_mem lies between 325 and 900, and the earliest t_grok at
1,575: the branch is on the plateau of every seed, and its epoch does not depend on how the run ends.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis import FIRST_TOUCH
from ...experiments.base import Arms, Overrides
from ...experiments.clocks import Clock
from ...experiments.collected import Finished, collected
from ...experiments.regimes import by_regime
from ..structural_inference.common import PAPER, QUICK

DIAL: Arms = {
    "q = 1": {"task.alphabet": 1},
    "q = 16": {"task.alphabet": 16},
    "q = 32": {"task.alphabet": 32},
    "operands": {"task.alphabet": "operands"},
}
"""Distractors: constant, from 16 or 32 symbols, or from the operands."""

BASE = replace(PAPER, epochs=20_000)
AT, QUICK_AT = 1000, 200
"""Epochs of the branch, at full and at quick size."""

PARENT: Arms = {"parent": {"log.keep": AT}}
BRANCH: Overrides = {"branch.run": "@parent", "branch.epoch": AT}
CONTROL: Arms = {"as it was": dict(BRANCH)}
"""A branch without an intervention."""

DIFFERS = (
    "The paper has no interventions in mid-run; the run before the branch is Table G.2's, with our learning rate (1e-3) and our "
    "distractors."
)

COLLECTED = ("after_first_99", "epochs_after")
AFTER_99 = Clock(
    "after_first_99", end="epochs_after", name="first crossing of 99 % after the branch, in epochs from there"
)


def branches(arms: Arms) -> Arms:
    """The arms as branches of the parent."""
    return {arm: {**BRANCH, **settings} for arm, settings in arms.items()}


def on_dial(arms: Arms) -> Arms:
    """The parent, its continuation and these arms, at every setting of the dial."""
    return by_regime(PARENT | CONTROL | arms, DIAL)


def quick_arms(arms: Arms, more: Arms | None = None) -> dict[str, Overrides]:
    """The quick size has q = 16 only, and branches earlier.

    more   further settings by arm
    """
    kept: dict[str, Overrides] = {}
    for arm, settings in (PARENT | CONTROL | arms).items():
        own = {name: QUICK_AT for name in ("log.keep", "branch.epoch", "do.epoch") if settings.get(name) == AT}
        kept[f"q = 16, {arm}"] = own | dict((more or {}).get(arm, {}))
    return kept


def _since(run: Finished) -> int | None:
    epoch: int | None = run.info.manifest.get("parent", {}).get("epoch")
    return epoch


@collected("after_first_99")
def after_first_99(run: Finished) -> float | None:
    """Epochs from the branch to the first later evaluation with a test accuracy of 99 %; none without a branch."""
    since = _since(run)
    if since is None:
        return None
    later = run.metrics[run.metrics["epoch"] > since]
    reached = FIRST_TOUCH.time(later["epoch"], later["test_accuracy"])
    return None if reached is None else float(reached - since)


@collected("epochs_after")
def epochs_after(run: Finished) -> float | None:
    """Epochs that a branch was trained for."""
    since = _since(run)
    return None if since is None else float(run.metrics["epoch"].iloc[-1] - since)


__all__ = [
    "AFTER_99",
    "AT",
    "BASE",
    "BRANCH",
    "COLLECTED",
    "DIAL",
    "DIFFERS",
    "QUICK",
    "branches",
    "on_dial",
    "quick_arms",
]
