"""Figures 20 and 21: what the masks look like. Weight matrices and the ticket's mask, beside masks drawn before training."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import InEach, Less, WithinRange
from .columns import SIDES
from .common import DENSE, LAYER_WISE, MLP, PAPER, QUICK, SEEDS, TICKET, given
from .fig5 import INITIAL

MARGIN = 0.005
"""Nats; less than that from a mask whose entries are shuffled counts as not periodic."""

experiment(
    name="gt-fig20",
    also=("gt-fig21",),
    paper=PAPER,
    title="Masks",
    question="Are the ticket's masks periodic, and those drawn before training not?",
    base=MLP,
    arms=DENSE | TICKET | INITIAL,
    seeds=SEEDS,
    differs=f"the paper judges the masks by eye; {LAYER_WISE}",
    quick=QUICK,
    quick_seeds=2,
    claims=[
        Claim(
            name="periodic",
            statement="The ticket's masks reflect the periodic patterns of the weights.",
            text="Fourier entropy of the mask over the operands, dimension by dimension, less that of shuffled masks, in "
            f"nats: agrees for a matrix if the interval of the mean lies below −{MARGIN:g}, given that the dense network "
            "generalised.",
            rule=given(
                InEach({side: WithinRange(f"mask entropy, {side}", "grokking ticket", -4.0, -MARGIN) for side in SIDES})
            ),
        ),
        Claim(
            name="initial",
            statement="Masks of pruning at initialisation have no periodic structure.",
            text=f"The same: agrees for a method and a matrix if the interval of the mean lies within ±{MARGIN:g}, "
            "disagrees if it lies outside.",
            rule=InEach(
                {
                    f"{arm}, {side}": WithinRange(f"mask entropy, {side}", arm, -MARGIN, MARGIN)
                    for arm in INITIAL
                    for side in SIDES
                }
            ),
        ),
        Claim(
            name="start",
            statement="Before the first step, the ticket is more periodic than networks pruned at initialisation.",
            text="Input-side Fourier entropy of the pruned initial weights at epoch 0, Wilcoxon's signed ranks over "
            "paired seeds (p < 0.05), given that the dense network generalised.",
            rule=given(InEach({arm: Less("fourier_start", "grokking ticket", arm) for arm in INITIAL})),
            of="ours",
        ),
    ],
    collected=("fourier_start",),
    curves=("fourier_entropy_in", "fourier_entropy_out"),
    pictures={"entropy": "gt-fourier", "masks": "gt-mask-periods"},
    probes=("masks", "mask-entropy"),
)
