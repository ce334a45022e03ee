"""The place of LayerNorm at every setting of the dial: from constant distractors to the operand vocabulary."""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment
from .common import HARD, PLACEMENTS, PLACES, quick
from .rules import differ_in_each, one_direction

ALPHABETS = {f"q = {q}": {"task.alphabet": q} for q in (1, 4, 16, "operands")}

experiment(
    name="ib-placement-dial",
    paper="inductive-bias",
    title="Placement and distractors",
    question="Does the place of LayerNorm matter in the same way whatever the distractors are?",
    base=HARD,
    arms=crossed(ALPHABETS, PLACEMENTS),
    quick=quick(1200),
    quick_seeds=2,
    quick_arms={f"{q}, {place}": {} for q in ("q = 1", "q = 4", "q = 16") for place in PLACEMENTS},
    claims=[
        Claim(
            name="matters",
            statement="The place of LayerNorm changes the grokking time, whatever the distractors are.",
            rule="At each alphabet: holds if the log-rank test over the six placements gives p < 0.05 after Holm's correction; "
            "does not hold if it does not and all medians are within a factor of 1.5.",
            judge=differ_in_each({q: [f"{q}, {place}" for place in PLACEMENTS] for q in ALPHABETS}),
        ),
        Claim(
            name="direction",
            statement="A place that makes grokking sooner at one alphabet does not make it later at another.",
            rule="Each place against no normalisation, log-rank p < 0.05 after Holm's correction over all. Does not hold if a "
            "place is sooner at one alphabet and later at another; holds if none is, and some place has an effect at two "
            "alphabets.",
            judge=one_direction({place: {q: (f"{q}, {place}", f"{q}, none") for q in ALPHABETS} for place in PLACES}),
        ),
    ],
    pictures={"times": "ib-times"},
)
