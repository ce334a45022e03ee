"""Structure and norm, apart: attention and the norm of the MLP are set in mid-plateau, in all four combinations.

The norm is that at which nets of this size generalise in stored runs (27 to 31 at t_grok, median 28.5), held after every step.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import InEach, ShareAtMost, Sooner, in_regimes
from .common import AFTER_99, BASE, COLLECTED, DIAL, DIFFERS, QUICK, branches, on_dial, quick_arms

NORM, QUICK_NORM = 28.5, 18.0
AS_IT_IS = "attention as it is"

ARMS: Arms = branches(
    {
        "structure": {"do.kind": "clamp", "do.to": "oracle"},
        "norm": {"do.kind": "rescale", "do.norm": NORM, "do.hold": True},
        "both": {
            "do.kind": "both",
            "do.first.kind": "clamp",
            "do.first.to": "oracle",
            "do.second.kind": "rescale",
            "do.second.norm": NORM,
            "do.second.hold": True,
        },
        "norm, once": {"do.kind": "rescale", "do.norm": NORM},
        AS_IT_IS: {"do.kind": "clamp", "do.to": "branch"},
        "uniform attention": {"do.kind": "clamp", "do.to": "uniform"},
    }
)
SMALLER: Arms = {
    "norm": {"do.norm": QUICK_NORM},
    "norm, once": {"do.norm": QUICK_NORM},
    "both": {"do.second.norm": QUICK_NORM},
}

experiment(
    name="causes-structure-norm",
    paper="causes",
    title="Structure and norm",
    question="Is it structure or norm that a run on the plateau waits for?",
    base=BASE,
    differs=DIFFERS
    + " Forty seeds of the share that is claimed: twenty, which were judged before, are too few among four cases.",
    arms=on_dial(ARMS),
    seeds=20,
    seeds_of={f"{regime}, {arm}": 40 for regime in DIAL for arm in ("parent", AS_IT_IS)},
    parts=list(DIAL),
    quick=QUICK,
    quick_arms=quick_arms(ARMS, SMALLER),
    collected=COLLECTED,
    claims=[
        Claim(
            name="structure",
            statement="On the plateau a run waits for structure: with attention set to the oracle it generalises sooner.",
            text="For each kind of distractors: branches with attention clamped to the oracle reach 99 % sooner after the branch "
            "than branches left as they were (paired permutation test).",
            rule=in_regimes(Sooner("structure", "as it was", AFTER_99), DIAL),
        ),
        Claim(
            name="norm",
            statement="It waits for the norm of the MLP to fall: held at the norm at which nets generalise, it does so sooner.",
            text="For each kind of distractors: branches whose MLP is projected to a norm of 28.5 after every step reach 99 % "
            "sooner after the branch than branches left as they were (paired permutation test).",
            rule=in_regimes(Sooner("norm", "as it was", AFTER_99), DIAL),
        ),
        Claim(
            name="both",
            statement="Structure and norm at once end the wait sooner than either alone.",
            text="For each kind of distractors: branches with both reach 99 % sooner than those with one of them (paired "
            "permutation tests, each on its own).",
            rule=in_regimes(InEach({own: Sooner("both", own, AFTER_99) for own in ("structure", "norm")}), DIAL),
        ),
        Claim(
            name="attention-must-move",
            statement="Generalisation needs attention to change on the plateau: held as it is, a run does not generalise.",
            text="For each kind of distractors: at most 20 % of the branches whose attention is clamped to its value at the branch "
            "reach 99 % (exact binomial interval).",
            rule=in_regimes(ShareAtMost(AS_IT_IS, 0.2, clock=AFTER_99), DIAL),
            of="ours",
        ),
        Claim(
            name="uniform",
            statement="Any attention that ignores the distractors' symbols would do: uniform attention ends the wait too.",
            text="For each kind of distractors: branches with attention clamped to uniform weights reach 99 % sooner after the "
            "branch than branches left as they were (paired permutation test).",
            rule=in_regimes(Sooner("uniform attention", "as it was", AFTER_99), DIAL),
            of="critic",
        ),
    ],
    pictures={"accuracy": "accuracy", "after": "causes-after"},
)
