"""Figure 8: routing that differs from example to example, and test sequences longer than any trained on; also among constant
symbols.

Runs of the length part train to the last epoch, whatever their test accuracy is: they are tested at length 12, and a probe
replays their checkpoints at every length from 6 on. With random places the operands must be told from distractors, so these are
never from the operand vocabulary.
"""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment, kept
from ...experiments.rules import Greater, InEach, Sooner, in_regimes
from .common import LITERAL, LOST, PAPER, PRIOR, QUICK

ROUTED = crossed(LITERAL, {"random places": {"task.placement": "random", "epochs": 40_000}}, PRIOR)
LONGER = crossed(
    LITERAL,
    {
        "length 6": {
            "task.distractors": 3,
            "task.test_distractors": 9,
            "epochs": 10_000,
            "stop.accuracy": 0.0,
            "log.keep": 1000,
        }
    },
    PRIOR,
)

experiment(
    name="si-fig8-routing",
    paper="structural-inference",
    title="Dynamic routing",
    question="Does the prior help where the informative places are drawn anew for each example?",
    base=PAPER,
    differs=f"{LOST}; 40,000 epochs instead of 10,000.",
    arms=ROUTED,
    seeds=20,
    parts=list(LITERAL),
    quick=QUICK,
    quick_arms={f"q = 16, random places, {prior}": {"epochs": 2000} for prior in PRIOR},
    claims=[
        Claim(
            name="routing",
            statement="When the informative locations vary, a sequence-dependent oracle restores the structural bypass.",
            text="Among each kind of distractors: runs with the prior reach 99 % sooner (paired permutation test).",
            rule=in_regimes(Sooner("random places, oracle", "random places, no prior"), tuple(LITERAL)),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)

experiment(
    name="si-fig8",
    paper="structural-inference",
    title="Length",
    question="Does the prior help at lengths never trained on?",
    base=PAPER,
    differs=f"{LOST}. The lengths of the longer tests are lost, too.",
    arms=LONGER,
    seeds=20,
    parts=list(LITERAL),
    quick=QUICK,
    quick_arms={arm: {"epochs": 1000, "log.keep": 200} for arm in kept(LONGER) if arm.startswith("q = 16")},
    claims=[
        Claim(
            name="length",
            statement="When distractors are more at test time, the KL-trained model preserves substantially better accuracy.",
            text="Among each kind of distractors, at two and at six tokens more than in training, after 10,000 epochs: test "
            "accuracy is higher with the prior by more than 5 percentage points (signed ranks, paired by seed).",
            rule=in_regimes(
                InEach(
                    {
                        f"{more} more": Greater(
                            f"accuracy at {more} more", "length 6, oracle", "length 6, no prior", 0.05
                        )
                        for more in (2, 6)
                    }
                ),
                tuple(LITERAL),
            ),
            remark="Without the prior the median accuracy stays at 1 at these lengths, too: next to nothing is lost that could be "
            "preserved.",
        ),
        Claim(
            name="in-length",
            statement="At the length of training both generalise, so that length is what is compared.",
            text="Among each kind of distractors, after 10,000 epochs: test accuracy at length 6 is not lower without the prior "
            "by more than 1 percentage point (signed ranks, paired by seed).",
            rule=in_regimes(
                Greater("accuracy in length", "length 6, no prior", "length 6, oracle", -0.01), tuple(LITERAL)
            ),
            of="ours",
        ),
    ],
    pictures={"accuracy": "accuracy", "lengths": "si-lengths"},
    probes=("lengths",),
)
