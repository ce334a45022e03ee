"""Positive controls: every method at its authors' recipe, on their task, against what they report."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...config import RunConfig
from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import Clock
from ...experiments.rules import InEach, Rule, Sooner, WithinRange
from ...race.clocks import FIRST, FIRST_95
from ...race.methods.base import Control, Method, accelerators
from .collected import COLLECTED
from .figures.controls import positive_controls

SLACK = 1.25
"""A published number counts as reached if it takes at most so many times as long."""

EVERY: dict[str, tuple[Method, Control]] = {
    cls.title: (cls(), cls.control) for cls in accelerators.entries().values() if cls.control is not None
}
BASELINE = ", its baseline"
"""Ends the name of the arm that a method without a published number is compared with."""
BASELINES = {f"{title}{BASELINE}": own for title, (_, own) in EVERY.items() if own.baseline is not None}
ARMS: Arms = {title: dict(own.settings) for title, (_, own) in EVERY.items()} | {
    arm: {**own.settings, **(own.baseline or {})} for arm, own in BASELINES.items()
}


def clock_of(control: Control) -> Clock:
    return FIRST_95 if control.threshold == 0.95 else FIRST


def _rule(title: str, control: Control) -> Rule:
    if control.steps is not None:
        return WithinRange(clock_of(control), title, 0, SLACK * control.steps)
    return Sooner(title, f"{title}{BASELINE}", clock_of(control))


def _quick(own: dict[str, Any]) -> dict[str, Any]:
    """A size for two cores."""
    small = {"model.width": 64} if "model.width" in own else {"model.d": 32, "model.d_mlp": 64}
    return {"task.p": 23, "epochs": 60, **small, **({"batch_size": 128} if "batch_size" in own else {})}


experiment(
    name="race-controls",
    paper="race",
    title="Race: positive controls",
    question="Does each accelerator reach its published number, at its authors' settings on their task?",
    base=RunConfig(),
    arms=ARMS,
    seeds=20,
    quick={},
    quick_seeds=2,
    quick_arms={arm: _quick(own) for arm, own in ARMS.items()},
    claims=[
        Claim(
            name="published",
            statement="At its authors' recipe on their task, each accelerator reaches its published number.",
            rule=InEach({title: _rule(title, own) for title, (_, own) in EVERY.items() if own.steps is not None}),
            text="For each method with a published number of steps: the median of the steps to the authors' threshold is at most "
            "1.25 times that number (sign test of the median).",
            reported="; ".join(f"{t}: {own.reported}" for t, (_, own) in EVERY.items() if own.steps is not None),
        ),
        Claim(
            name="accelerates",
            statement="At its authors' recipe on their task, each accelerator generalises sooner than their baseline.",
            rule=InEach({title: _rule(title, own) for title, (_, own) in EVERY.items() if own.steps is None}),
            text="For each method whose number is in a picture alone: paired by seed, it reaches 95 % in fewer steps than the "
            "authors' baseline with the same settings (permutation test).",
            reported="; ".join(f"{t}: {own.reported}" for t, (_, own) in EVERY.items() if own.steps is None),
        ),
    ],
    pictures={
        "steps": partial(
            positive_controls,
            clocks={title: clock_of(own) for title, (_, own) in EVERY.items()}
            | {arm: clock_of(own) for arm, own in BASELINES.items()},
            published={title: own.steps for title, (_, own) in EVERY.items() if own.steps is not None},
        )
    },
    collected=COLLECTED,
    settings="authors'",
    differs=" ".join(f"{title}: {own.differs}" for title, (_, own) in EVERY.items() if own.differs),
)
