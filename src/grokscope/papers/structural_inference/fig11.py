"""Figure 11: attention frozen at the oracle; batch size and Adam's momentum as perturbations of the plateau; in each regime."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import in_most_runs, in_regimes, regime_pairs, sooner_in_each
from .common import PAPER, QUICK

PERTURBED: Arms = {
    "full batch": {},
    "batch 512": {"batch_size": 512},
    "batch 1024": {"batch_size": 1024},
    "momentum 0": {"optim.beta1": 0.0},
    "momentum 0.98": {"optim.beta1": 0.98},
}
ARMS = PERTURBED | {"frozen oracle": {"constraint.attention": "oracle"}}

experiment(
    name="si-fig11",
    paper="structural-inference",
    title="Frozen structure, perturbed optimizer",
    question="Does given structure suffice, and does the norm decay survive other batches and momenta?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime([arm for arm in ARMS if arm != "batch 1024"]),
    claims=[
        Claim(
            name="frozen",
            statement="With attention frozen at the oracle, generalisation comes fast.",
            rule="Holds in a regime if runs with frozen oracle attention grok sooner than runs that learn it (log-rank p < 0.05 "
            "after Holm's correction over the regimes).",
            judge=sooner_in_each(regime_pairs(("frozen oracle", "full batch"))),
        ),
        Claim(
            name="norm-decay",
            statement="Batch size and momentum change rates, not the decay of the MLP norm on the plateau.",
            rule="Holds in a regime for an arm if in at least 80 % of its runs that grok the MLP norm is lower at t_grok than at "
            "t_mem.",
            judge=in_regimes(
                in_most_runs(
                    list(PERTURBED),
                    lambda runs: (runs["mlp_norm_grok"] < runs["mlp_norm_mem"]).where(runs["mlp_norm_grok"].notna()),
                    lambda runs: (
                        f", median norm {runs['mlp_norm_mem'].median():.1f} to {runs['mlp_norm_grok'].median():.1f}"
                    ),
                )
            ),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times", "norm": "mlp-norm"},
)
