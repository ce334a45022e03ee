"""The place of LayerNorm at every setting of the dial: from constant distractors to the operand vocabulary."""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment, kept
from ...experiments.rules import Differ, InEach
from .common import AMONG_DISTRACTORS, HARD, PLACEMENTS, PLACES, SEEDS, quick
from .reversal import NoReversal

ALPHABETS = {f"q = {q}": {"task.alphabet": q} for q in (1, 4, 16)}
OPERANDS = {"q = operands": {"task.alphabet": "operands"}}
FEW = ("none", "MLP input", "query/key path")
"""Placements among operand distractors, where runs train to the last epoch without grokking."""
PLACED = {q: tuple(PLACEMENTS) for q in ALPHABETS} | dict.fromkeys(OPERANDS, FEW)
"""The placements at each alphabet."""

experiment(
    name="ib-placement-dial",
    paper="inductive-bias",
    title="Placement and distractors",
    question="Does the place of LayerNorm matter in the same way whatever the distractors are?",
    differs=AMONG_DISTRACTORS,
    base=HARD,
    arms=crossed(ALPHABETS, PLACEMENTS) | crossed(OPERANDS, {place: PLACEMENTS[place] for place in FEW}),
    seeds=SEEDS,
    quick=quick(1200),
    quick_seeds=2,
    quick_arms=kept(crossed(ALPHABETS, PLACEMENTS)),
    claims=[
        Claim(
            name="matters",
            statement="The position of LayerNorm strongly modulates grokking speed.",
            rule=InEach({q: Differ(tuple(f"{q}, {place}" for place in own)) for q, own in PLACED.items()}),
            text="At each alphabet: the placements differ (permutation within seeds); disagrees if every two are "
            "alike within a quarter.",
        ),
        Claim(
            name="direction",
            of="ours",
            statement="A place that makes grokking sooner at one alphabet does not make it later at another.",
            rule=NoReversal(
                {
                    place: {q: (f"{q}, {place}", f"{q}, none") for q, own in PLACED.items() if place in own}
                    for place in PLACES
                }
            ),
            text="Each place against no normalisation at every alphabet, paired by seed. Agrees for a place that is "
            "at no alphabet later than 1.25 times, or at none sooner than that; disagrees for one that is "
            "sooner at one and later at another.",
        ),
    ],
    pictures={"times": "ib-times"},
)
