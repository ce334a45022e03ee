"""Does the precision of matrix products change when a run groks? The fast modes are of use only if it does not."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Alike, InEach
from ..structural_inference.common import PAPER, QUICK

CHECKED = ("tf32", "bf16")
ARMS: Arms = {name: {"task.alphabet": 4, "precision": name} for name in ("float32", *CHECKED)}

experiment(
    name="speed-bf16",
    paper="speed",
    title="Precision",
    question="Does the precision of matrix products change when a run groks?",
    differs="no paper has made this claim; the runs are those of structural inference's Table G.2, with four distractor symbols",
    base=PAPER,
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    claims=[
        Claim(
            name="same",
            statement="TF32 and bf16 matrix products leave the grokking time within a quarter of float32's.",
            rule=InEach({name: Alike(("float32", name), slack=1.25) for name in CHECKED}),
            text="For each, paired by seed: agrees if the interval of the ratio of times lies within 0.8 to 1.25 (two one-sided "
            "tests; runs that never reach 99 % count as latest), disagrees if it lies outside.",
            of="ours",
        ),
    ],
    pictures={"times": "times"},
)
