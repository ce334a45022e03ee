"""Figure 2a: the grokking ticket against the dense network, modular addition with the MLP of Eq. 1."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import sooner
from .common import DENSE, GENERALISED, MLP, PAPER, QUICK, TICKET
from .rules import lower_ratio

CLAIMS = [
    Claim(
        name="sooner",
        statement="A grokking ticket generalises sooner than the dense network.",
        rule="Holds if t_gen (test accuracy 95 %) comes earlier: log-rank p < 0.05 and the earlier median.",
        judge=sooner("grokking ticket", "dense", GENERALISED),
    ),
    Claim(
        name="ratio",
        statement="The ratio τ_grok = t_gen/t_mem falls too: it is not just faster learning.",
        rule="Holds if τ_grok is lower for the ticket: Mann–Whitney p < 0.05, runs that never generalised counting as largest.",
        judge=lower_ratio("grokking ticket", "dense"),
    ),
]

experiment(
    name="gt-fig2a",
    also=("gt-fig2",),
    paper=PAPER,
    title="Tickets on the MLP",
    question="Does the ticket of a generalised network generalise without the delay?",
    base=MLP,
    arms=DENSE | TICKET,
    quick=QUICK,
    claims=CLAIMS,
    pictures={"accuracy": "train-test"},
)
