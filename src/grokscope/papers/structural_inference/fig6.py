"""Figure 6: a zoo of structural priors, in each regime. Does it take the oracle, or does any push towards few tokens do?"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import no_later_in_each, regime_pairs, sooner_in_each
from .common import PAPER, PRIOR, QUICK

BLIND: Arms = {
    "entropy": {"prior.kind": "entropy", "prior.beta": 0.3},
    "sparsity L½": {"prior.kind": "sparsity", "prior.beta": 0.3},
    "sparsity −L2": {"prior.kind": "sparsity", "prior.beta": 0.3, "prior.norm": "negative-l2"},
}
"""Priors that do not know where to look."""
TAUGHT: Arms = {"teacher": {"prior.beta": 0.3, "prior.target": "teacher", "prior.teacher": "@no prior"}}
ARMS = PRIOR | BLIND | TAUGHT

experiment(
    name="si-fig6",
    paper="structural-inference",
    title="A zoo of priors",
    question="How do entropy, sparsity and a teacher's attention compare with the oracle?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_seeds=2,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="teacher",
            statement="Distilling a teacher's attention makes grokking come sooner.",
            rule="Holds in a regime if runs taught by the no-prior run of their seed grok sooner than that run's arm (log-rank "
            "p < 0.05 after Holm's correction over the regimes).",
            judge=sooner_in_each(regime_pairs(("teacher", "no prior"))),
        ),
        Claim(
            name="nearly-the-oracle",
            statement="Distilling a teacher's attention gains nearly what the oracle does.",
            rule="Holds in a regime if the teacher's median is at most 1.25 times the oracle's; does not hold if the log-rank test "
            "(p < 0.05 after Holm's correction over the regimes) finds it later.",
            judge=no_later_in_each(regime_pairs(("teacher", "oracle"))),
        ),
        Claim(
            name="sparsity",
            statement="Entropy and sparsity penalties make grokking come sooner than weight decay alone.",
            rule="For each prior without knowledge in each regime: log-rank p < 0.05 after Holm's correction against no prior, "
            "with the earlier median.",
            judge=sooner_in_each(
                {f"{regime}, {arm}": (f"{regime}, {arm}", f"{regime}, no prior") for regime in REGIMES for arm in BLIND}
            ),
        ),
        Claim(
            name="concentration",
            statement="Concentrating attention without saying where is not enough: the oracle is sooner.",
            rule="Holds in a regime if for each prior without knowledge log-rank p < 0.05 after Holm's correction over priors and "
            "regimes, and the oracle's median is earlier.",
            judge=sooner_in_each(regime_pairs(*(("oracle", arm) for arm in BLIND))),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
