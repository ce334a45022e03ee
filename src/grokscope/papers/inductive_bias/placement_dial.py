"""The place of LayerNorm at every setting of the dial: from constant distractors to the operand vocabulary."""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment
from ...experiments.rules import Differ, InEach
from .common import HARD, PLACEMENTS, PLACES, SEEDS, quick
from .reversal import NoReversal

ALPHABETS = {f"q = {q}": {"task.alphabet": q} for q in (1, 4, 16, "operands")}

experiment(
    name="ib-placement-dial",
    paper="inductive-bias",
    title="Placement and distractors",
    question="Does the place of LayerNorm matter in the same way whatever the distractors are?",
    base=HARD,
    arms=crossed(ALPHABETS, PLACEMENTS),
    seeds=SEEDS,
    quick=quick(1200),
    quick_seeds=2,
    quick_arms={f"{q}, {place}": {} for q in ("q = 1", "q = 4", "q = 16") for place in PLACEMENTS},
    claims=[
        Claim(
            name="matters",
            statement="The position of LayerNorm strongly modulates grokking speed.",
            rule=InEach({q: Differ(tuple(f"{q}, {place}" for place in PLACEMENTS)) for q in ALPHABETS}),
            text="At each alphabet: the six placements differ (permutation within seeds); disagrees if every two are"
            " alike within a quarter.",
        ),
        Claim(
            name="direction",
            of="ours",
            statement="A place that makes grokking sooner at one alphabet does not make it later at another.",
            rule=NoReversal({place: {q: (f"{q}, {place}", f"{q}, none") for q in ALPHABETS} for place in PLACES}),
            text="Each place against no normalisation at every alphabet, paired by seed. Agrees for a place that is "
            "at no alphabet later than 1.25 times, or at none sooner than that; disagrees for one that is "
            "sooner at one and later at another.",
        ),
    ],
    pictures={"times": "ib-times"},
)
