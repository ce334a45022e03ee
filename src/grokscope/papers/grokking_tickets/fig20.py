"""Figures 20 and 21: what the masks look like. Weight matrices and the ticket's mask, beside masks drawn before training."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from .common import DENSE, MLP, PAPER, QUICK, TICKET
from .fig5 import INITIAL
from .rules import JudgeAll, lower_at_end

PERIODIC: JudgeAll = lower_at_end("grokking ticket", "random", "fourier_entropy_in", "Fourier entropy at the end")

experiment(
    name="gt-fig20",
    also=("gt-fig21",),
    paper=PAPER,
    title="Masks",
    question="Are the ticket's masks periodic, and those drawn before training not?",
    base=MLP,
    arms=DENSE | TICKET | INITIAL,
    seeds=5,
    quick=QUICK,
    quick_seeds=2,
    claims=[
        Claim(
            name="periodic",
            statement="The ticket's structure is more periodic than that of a randomly pruned network.",
            rule="Holds if the input-side Fourier entropy at the end is lower than with a random mask: Mann–Whitney p < 0.05.",
            judge_all=PERIODIC,
        ),
    ],
    pictures={"entropy": "gt-fourier", "masks": "gt-masks"},
    probes=("masks",),
)
