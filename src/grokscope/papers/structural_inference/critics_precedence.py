"""Critics: does attention find the informative tokens before the test loss falls, run by run, and by how much?

The runs without a prior of si-dial, at every alphabet that lets them grok. When "D has fallen" depends on the threshold and on the
scale, so there is none here: lead and lag come from the whole curves (`leads.py`), and with D in nats and in logarithms apart.
"""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import InEach, WithinRange
from .common import DIFFERS, PAPER, QUICK
from .dial import UNTOLD
from .leads import Leads

ARMS = {arm: settings for arm, settings in UNTOLD.items() if arm not in ("q = 64", "q = operands")}

experiment(
    name="si-critics-precedence",
    paper="structural-inference",
    title="Structure before accuracy",
    question="Does D fall before the test loss does, and by how much of the wait?",
    base=PAPER,
    differs=DIFFERS + " 32 symbols train for 60,000 epochs.",
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    quick_arms={arm: {} for arm in ("q = 1", "q = 4", "q = 16")},
    claims=[
        Claim(
            name="precedence",
            statement="The attention posterior condenses before accuracy rises.",
            text="At each alphabet: between t_mem and t_grok the test loss falls later than D. The lag is the shift at which the "
            "falls of both curves agree best; over the runs in which it is at most a quarter of the wait (more than half must "
            "be: time-shift null) it lies above 0 (signed ranks). With D in nats and with log D, each a case of its own.",
            rule=InEach(
                {
                    f"{arm}, {'D in nats' if scale == 'nats' else 'log D'}": Leads(arm, scale)
                    for arm in ARMS
                    for scale in ("nats", "log")
                }
            ),
        ),
        Claim(
            name="small-before",
            statement="Test performance remains near chance until the structural divergence is small.",
            text="At each alphabet: the mean over runs of D when test accuracy passes 10 % lies below 0.1 nats, a ninth of that "
            "of uniform attention.",
            rule=InEach({arm: WithinRange("D at 10 % test accuracy", arm, 0.0, 0.1) for arm in ARMS}),
        ),
    ],
    pictures={"lead": "si-lead"},
)
