"""The dial: what a distractor is decides everything. Grokking time with and without a prior against the distractor alphabet."""

from __future__ import annotations

from ..figures import grokking_times
from .base import Claim, crossed, experiment, kept
from .common import PAPER, PRIOR, QUICK
from .rules import sooner_in_each

ALPHABETS = (1, 2, 4, 8, 16, 32, 64, "operands")
DIAL = {f"q = {q}": {"task.alphabet": q} for q in ALPHABETS}


experiment(
    name="si-dial",
    paper="structural-inference",
    title="The dial",
    question="For which distractor alphabets is attention the bottleneck that the prior removes?",
    base=PAPER,
    arms=crossed(DIAL, PRIOR),
    seeds=10,
    quick=QUICK,
    quick_arms=kept(crossed(kept(("q = 1", "q = 4", "q = 16")), PRIOR)),
    claims=[
        Claim(
            name="helps",
            statement="The KL prior makes grokking come sooner, whatever the distractors are.",
            rule="At each alphabet: log-rank p < 0.05 after Holm's correction and the earlier median with the prior.",
            judge=sooner_in_each({arm: (f"{arm}, oracle", f"{arm}, no prior") for arm in DIAL}),
        ),
    ],
    pictures={"times": grokking_times},
)
