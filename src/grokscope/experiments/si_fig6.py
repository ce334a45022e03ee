"""Figure 6: a zoo of structural priors. Does it take the oracle, or does any push towards few tokens do?"""

from __future__ import annotations

from ..figures import accuracy_and_divergence, grokking_times
from .base import Claim, experiment
from .common import PAPER, QUICK
from .rules import sooner, sooner_in_each

experiment(
    name="si-fig6",
    paper="structural-inference",
    title="A zoo of priors",
    question="How do entropy, sparsity and a teacher's attention compare with the oracle?",
    base=PAPER,
    arms={
        "no prior": {"prior.beta": 0.0},
        "oracle": {"prior.beta": 0.3},
        "entropy": {"prior.kind": "entropy", "prior.beta": 0.3},
        "sparsity L½": {"prior.kind": "sparsity", "prior.beta": 0.3},
        "sparsity −L2": {"prior.kind": "sparsity", "prior.beta": 0.3, "prior.norm": "negative-l2"},
        "teacher": {"prior.beta": 0.3, "prior.target": "teacher", "prior.teacher": "@no prior"},
    },
    quick=QUICK,
    claims=[
        Claim(
            name="teacher",
            statement="Distilling a teacher's attention gains nearly what the oracle does.",
            rule="Holds if runs taught by the no-prior run of their seed grok sooner than that run's arm (log-rank p < 0.05).",
            judge=sooner("teacher", "no prior"),
        ),
        Claim(
            name="concentration",
            statement="Concentrating attention without saying where is not enough: the oracle is sooner.",
            rule="For each prior without knowledge: log-rank p < 0.05 after Holm's correction and the oracle's median earlier; "
            "holds if so for all.",
            judge=sooner_in_each({arm: ("oracle", arm) for arm in ("entropy", "sparsity L½", "sparsity −L2")}),
        ),
    ],
    pictures={"accuracy": accuracy_and_divergence, "times": grokking_times},
)
