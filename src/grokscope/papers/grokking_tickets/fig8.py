"""Figures 8, 17 and 18: the ticket finds periodic weights early. Fourier entropy, weights of neurons, their spectra."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from .common import DENSE, MLP, PAPER, QUICK, TICKET
from .rules import lower_at, lower_at_end

EARLY = {"full": 2000, "quick": 200}

experiment(
    name="gt-fig8",
    also=("gt-fig17", "gt-fig18"),
    paper=PAPER,
    title="Periodic structure",
    question="Do the ticket's neurons settle on single frequencies earlier than the dense network's?",
    base=MLP,
    arms=DENSE | TICKET,
    quick=QUICK,
    claims=[
        Claim(
            name="early",
            statement="At 2,000 epochs the ticket's Fourier entropy is lower than the dense network's.",
            rule="Holds if the input-side Fourier entropy is lower at 2,000 epochs (200 at ten times the learning rate): "
            "Mann–Whitney p < 0.05.",
            judge_all=lower_at("grokking ticket", "dense", "fourier_entropy_in", EARLY, "Fourier entropy"),
        ),
        Claim(
            name="end",
            statement="The ticket also ends at a lower Fourier entropy.",
            rule="Holds if the input-side Fourier entropy is lower at the end of the runs: Mann–Whitney p < 0.05.",
            judge_all=lower_at_end("grokking ticket", "dense", "fourier_entropy_in", "Fourier entropy at the end"),
        ),
    ],
    pictures={"entropy": "gt-fourier", "weights": "gt-neurons", "spectra": "gt-spectra", "progress": "gt-progress"},
    probes=("neurons", "progress"),
)
