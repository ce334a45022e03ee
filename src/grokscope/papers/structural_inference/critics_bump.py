"""Critics 3: phase 3 predicts that the train loss rises before grokking, and no figure shows it. How often, by how much?

The runs without a prior of si-dial, at every alphabet that lets them grok.
"""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import InEach, ShareAtLeast
from .common import DIFFERS, PAPER, QUICK
from .dial import UNTOLD

ARMS = UNTOLD

experiment(
    name="si-critics-bump",
    paper="structural-inference",
    title="The bump of phase 3",
    question="Does the train loss rise between the plateau and grokking, in how many runs, and by how much?",
    base=PAPER,
    differs=DIFFERS + " 32 and 64 symbols train for 60,000 epochs.",
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    quick_arms={arm: {} for arm in ("q = 1", "q = 4", "q = 16")},
    claims=[
        Claim(
            name="any-rise",
            statement="The training loss slightly rises before grokking (phase 3).",
            text="At each alphabet: in at least 80 % of the runs that grok the smoothed train loss rises by 1 % or more between "
            "its minimum on the plateau and t_grok (exact binomial interval).",
            rule=InEach({arm: ShareAtLeast(arm, 0.8, column="train loss rose by 1 %") for arm in ARMS}),
        ),
        Claim(
            name="bump",
            statement="It rises enough to be seen, by 10 % or more.",
            text="The same by 10 % or more.",
            rule=InEach({arm: ShareAtLeast(arm, 0.8, column="train loss rose by 10 %") for arm in ARMS}),
            of="ours",
        ),
    ],
    pictures={"loss": "si-bump"},
)
