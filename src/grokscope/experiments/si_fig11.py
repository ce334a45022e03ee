"""Figure 11: attention frozen at the oracle; batch size and Adam's momentum as perturbations of the plateau."""

from __future__ import annotations

from ..figures import accuracy_and_divergence, grokking_times, mlp_norm
from .base import Claim, experiment
from .common import PAPER, QUICK
from .rules import in_most_runs, sooner

PERTURBED = {
    "full batch": {},
    "batch 512": {"batch_size": 512},
    "batch 1024": {"batch_size": 1024},
    "momentum 0": {"optim.beta1": 0.0},
    "momentum 0.98": {"optim.beta1": 0.98},
}

experiment(
    name="si-fig11",
    paper="structural-inference",
    title="Frozen structure, perturbed optimizer",
    question="Does given structure suffice, and does the norm decay survive other batches and momenta?",
    base=PAPER,
    arms=PERTURBED | {"frozen oracle": {"constraint.attention": "oracle"}},
    quick={**QUICK, "task.p": 47},  # 1,546 training pairs: enough for a batch of 1024
    claims=[
        Claim(
            name="frozen",
            statement="With attention frozen at the oracle, generalisation comes fast.",
            rule="Holds if runs with frozen oracle attention grok sooner than runs that learn it (log-rank p < 0.05).",
            judge=sooner("frozen oracle", "full batch"),
        ),
        Claim(
            name="norm-decay",
            statement="Batch size and momentum change rates, not the decay of the MLP norm on the plateau.",
            rule="Holds for an arm if in at least 80 % of its runs that grok the MLP norm is lower at t_grok than at t_mem.",
            judge=in_most_runs(
                list(PERTURBED),
                lambda runs: (runs["mlp_norm_grok"] < runs["mlp_norm_mem"]).where(runs["mlp_norm_grok"].notna()),
                lambda runs: (
                    f", median norm {runs['mlp_norm_mem'].median():.1f} to {runs['mlp_norm_grok'].median():.1f}"
                ),
            ),
        ),
    ],
    pictures={"accuracy": accuracy_and_divergence, "times": grokking_times, "norm": mlp_norm},
)
