"""Figures 8, 17 and 18: the ticket finds periodic weights early. Fourier entropy, weights of neurons, their spectra."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Less
from .common import DENSE, LAYER_WISE, MLP, PAPER, QUICK, SEEDS, given
from .fig5 import ENDED

DENSE_END, TICKET_END = "dense to the end", "ticket to the end"
ARMS: Arms = {arm: ENDED[arm] for arm in (DENSE_END, TICKET_END)}

experiment(
    name="gt-fig8",
    also=("gt-fig17", "gt-fig18"),
    paper=PAPER,
    title="Periodic structure",
    question="Do the ticket's neurons settle on single frequencies earlier than the dense network's?",
    base=MLP,
    arms=DENSE | ARMS,
    seeds=SEEDS,
    differs=LAYER_WISE,
    quick=QUICK,
    claims=[
        Claim(
            name="early",
            statement="At 2,000 epochs the ticket's Fourier entropy is lower than the dense network's.",
            text="Input-side Fourier entropy at 2,000 epochs (200 at ten times the learning rate), Wilcoxon's signed "
            "ranks over paired seeds (p < 0.05), given that the dense network generalised.",
            rule=given(Less("fourier_early", TICKET_END, DENSE_END)),
        ),
        Claim(
            name="end",
            statement="The ticket converges to a smaller Fourier entropy.",
            text="The same at the last epoch, 30,000 for both.",
            rule=given(Less("fourier_end", TICKET_END, DENSE_END)),
            remark="The caption goes on “much faster than the base model”, and may mean the speed alone: that is the claim early.",
        ),
    ],
    collected=("fourier_early", "fourier_end"),
    curves=("fourier_entropy_in", "fourier_entropy_out"),
    pictures={"entropy": "gt-fourier", "weights": "gt-neurons", "spectra": "gt-spectra", "progress": "gt-progress"},
    probes=("neurons", "progress"),
)
