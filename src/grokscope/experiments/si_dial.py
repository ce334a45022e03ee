"""The dial: what a distractor is decides everything. Grokking time with and without a prior against the distractor alphabet."""

from __future__ import annotations

import pandas as pd

from ..analysis import holm
from ..figures import grokking_times
from .base import Claim, Ruling, crossed, experiment
from .common import LONG, QUICK
from .rules import ALPHA, numbers, say, sooner

ALPHABETS = (1, 2, 4, 8, 16, 32, 64, "operands")
DIAL = {f"q = {q}": {"task.alphabet": q} for q in ALPHABETS}


def prior_helps(runs: pd.DataFrame) -> Ruling:
    """The log-rank test at every alphabet, corrected for their number."""
    rulings = {arm: sooner(f"{arm}, oracle", f"{arm}, no prior")(runs) for arm in DIAL}
    corrected = holm([ruling.numbers["p"] for ruling in rulings.values()])
    helped = [arm for arm, p in zip(DIAL, corrected, strict=True) if p < ALPHA and rulings[arm].verdict == "holds"]
    pairs = [f"{arm}, {level}" for arm in DIAL for level in ("no prior", "oracle")]
    told = {**numbers(runs, *pairs), "p_holm": dict(zip(DIAL, map(float, corrected), strict=True))}
    measured = "; ".join(say(runs, arm) for arm in pairs) + "."
    if len(helped) == len(DIAL):
        return Ruling(verdict="holds", measured=measured, numbers=told)
    if helped:
        return Ruling(verdict="holds only when", when=", ".join(helped), measured=measured, numbers=told)
    return Ruling(verdict="does not hold", measured=measured, numbers=told)


experiment(
    name="si-dial",
    paper="structural-inference",
    title="The dial",
    question="For which distractor alphabets is attention the bottleneck that the prior removes?",
    base=LONG,
    arms=crossed(DIAL, {"no prior": {"prior.beta": 0.0}, "oracle": {"prior.beta": 0.3}}),
    quick=QUICK,
    claims=[
        Claim(
            name="helps",
            statement="The KL prior makes grokking come sooner, whatever the distractors are.",
            rule="At each alphabet: log-rank p < 0.05 after Holm's correction and the earlier median with the prior.",
            judge=prior_helps,
        ),
    ],
    pictures={"times": grokking_times},
)
