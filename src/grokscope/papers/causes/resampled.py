"""Labels and distractors drawn anew in mid-plateau: a live loss without knowledge, and memories that are of no use any more."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import InEach, Sooner, in_regimes
from .common import AFTER_99, BASE, COLLECTED, DIAL, DIFFERS, QUICK, branches, on_dial, quick_arms

SHARES = (0.03, 0.1, 0.3)
LABELS: Arms = {f"{share:.0%} of the labels": {"do.kind": "labels", "do.strength": share} for share in SHARES}
ONCE: Arms = {"10% of the labels, once": {"do.kind": "labels", "do.strength": 0.1, "do.redraw": "once"}}
DISTRACTORS: Arms = {
    "distractors, once": {"do.kind": "distractors", "do.redraw": "once"},
    "distractors, every step": {"do.kind": "distractors", "do.redraw": "every-step"},
}
ARMS: Arms = branches(LABELS | ONCE | DISTRACTORS)
DRAWN = [name for name in DIAL if name != "q = 1"]
"""Constant distractors cannot be drawn anew."""

experiment(
    name="causes-resampled",
    paper="causes",
    title="Resampled labels and distractors",
    question="Does a live loss end the wait, or the loss of what was memorised?",
    base=BASE,
    differs=DIFFERS,
    arms=on_dial(ARMS),
    seeds=20,
    parts=list(DIAL),
    quick=QUICK,
    quick_arms=quick_arms(ARMS),
    collected=COLLECTED,
    claims=[
        Claim(
            name="labels",
            statement="Any live loss ends the wait: random labels in every step do.",
            text="For each kind of distractors and each fraction: branches in which that fraction of the labels is random in every "
            "step reach 99 % sooner after the branch than branches left as they were (paired permutation tests).",
            rule=in_regimes(InEach({arm: Sooner(arm, "as it was", AFTER_99) for arm in LABELS}), DIAL),
            of="critic",
        ),
        Claim(
            name="distractors",
            statement="A run waits because distractors let it memorise: drawn anew in every step, they end the wait.",
            text="For distractors from 16 or 32 symbols or the operands: branches whose distractors are drawn anew in every step "
            "reach 99 % sooner after the branch than branches left as they were (paired permutation test).",
            rule=in_regimes(Sooner("distractors, every step", "as it was", AFTER_99), DRAWN),
            of="ours",
        ),
        Claim(
            name="distractors-once",
            statement="One new draw of the distractors is enough.",
            text="The same with distractors that are drawn anew once, at the branch.",
            rule=in_regimes(Sooner("distractors, once", "as it was", AFTER_99), DRAWN),
            of="ours",
        ),
    ],
    pictures={"accuracy": "accuracy", "after": "causes-after"},
)
