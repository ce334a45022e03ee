"""Figure 3: how the strength of the prior sets the time of grokking."""

from __future__ import annotations

from ..figures import accuracy_and_divergence, grokking_times
from .base import Claim, arms_over, experiment
from .common import LONG, QUICK
from .rules import broken_line, sooner

BETAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SWEEP = arms_over("prior.beta", BETAS, "β = {:g}")

experiment(
    name="si-fig3",
    paper="structural-inference",
    title="Delay against strength",
    question="Is the grokking time linear in 1/β down to a floor?",
    base=LONG,
    arms={"no prior": {"prior.beta": 0.0}} | SWEEP,
    quick=QUICK,
    claims=[
        Claim(
            name="accelerates",
            statement="A KL prior towards the informative tokens makes grokking come sooner.",
            rule="Holds if runs with β = 0.3 grok sooner than runs without a prior (log-rank p < 0.05).",
            judge=sooner("β = 0.3", "no prior"),
        ),
        Claim(
            name="inverse-law",
            statement="The grokking epoch is linear in 1/β down to a floor.",
            rule="Holds if in the best fit of t = max(floor, a + b/β) the bootstrap interval of b lies above 0 and R² ≥ 0.8.",
            judge=broken_line(list(SWEEP), lambda runs: 1 / runs["prior.beta"], "1/β"),
        ),
    ],
    pictures={"accuracy": accuracy_and_divergence, "times": grokking_times},
)
