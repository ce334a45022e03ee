"""Figure 5: Lemma 5.1 in practice. The measured gradient on the attention logits beneath its bound, with and without KL."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.regimes import by_regime, quick_regime
from ...experiments.rules import in_most_runs
from .common import PAPER, PRIOR, QUICK

ARMS = by_regime(PRIOR)

experiment(
    name="si-fig5",
    paper="structural-inference",
    title="Explaining away, measured",
    question="Does the attention gradient stay beneath the bound of Lemma 5.1 at every evaluation, and how far beneath?",
    base=PAPER,
    arms=ARMS,
    quick=QUICK,
    quick_arms=quick_regime(PRIOR),
    claims=[
        Claim(
            name="bound",
            statement="The gradient on every attention logit stays beneath the bound of Lemma 5.1.",
            rule="Holds if measured/bound (tight form) is at most 1 at every evaluation of every run. A violation is a bug.",
            judge=in_most_runs(
                list(ARMS),
                lambda runs: runs["bound_ratio"] <= 1 + 1e-5,
                lambda runs: f", worst ratio {runs['bound_ratio'].max():.3f}",
                share=1.0,
            ),
        ),
    ],
    pictures={"gradient": "gradient"},
)
