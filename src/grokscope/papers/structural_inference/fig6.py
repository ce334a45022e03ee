"""Figure 6: a zoo of structural priors, in each regime. Does it take the oracle, or does any push towards few tokens do?

Entropy and sparsity are swept over three strengths. Zero entropy forces one token where the answer needs two: a prior that asks
for the entropy of k tokens is beside them.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import Conditional, Fastest, InEach, NoLater, Reached, Sooner, in_regimes
from .common import DIFFERS, MORE, PAPER, PRIOR, QUICK

KINDS: Arms = {
    "entropy": {"prior.kind": "entropy"},
    "sparsity L½": {"prior.kind": "sparsity"},
    "sparsity −L2": {"prior.kind": "sparsity", "prior.norm": "negative-l2"},
    "|H − log k|": {"prior.kind": "support-size"},
}
"""Priors that do not know which tokens matter."""
STRENGTHS = (0.003, 0.03, 0.3)
FAMILIES = {kind: [f"{kind} β {beta:g}" for beta in STRENGTHS] for kind in KINDS}
BLIND: Arms = {
    f"{kind} β {beta:g}": {**settings, "prior.beta": beta} for kind, settings in KINDS.items() for beta in STRENGTHS
}
TAUGHT: Arms = {"teacher": {"prior.beta": 0.3, "prior.target": "teacher", "prior.teacher": "@no prior"}}
ARMS = PRIOR | BLIND | TAUGHT
PENALTIES = [kind for kind in KINDS if kind != "|H − log k|"]


def best_of(kind: str, other: str) -> Fastest:
    """The kind's best strength, chosen on half of the seeds, against an arm, on the other half."""
    return Fastest(kind, {kind: FAMILIES[kind], other: [other]})


experiment(
    name="si-fig6",
    paper="structural-inference",
    title="A zoo of priors",
    question="How do entropy, sparsity and a teacher's attention compare with the oracle?",
    base=PAPER,
    differs=DIFFERS
    + " The strengths of the other priors are ours, and so is the norm of the sparsity penalty, for L1 is constant. "
    + MORE
    + " Twenty seeds in the operand vocabulary, where none of these priors ends the wait.",
    arms=by_regime(ARMS),
    seeds=40,
    seeds_of={f"operand vocabulary, {arm}": 20 for arm in ARMS},
    parts=list(REGIMES),
    quick=QUICK,
    quick_seeds=2,
    quick_arms=quick_regime(["no prior", "oracle", "teacher", *(FAMILIES[kind][1] for kind in KINDS)]),
    claims=[
        Claim(
            name="teacher",
            statement="A teacher-derived structural prior accelerates grokking.",
            text="In each regime, over the seeds whose teacher (the run without a prior) generalised: taught runs reach 99 % "
            "sooner than their teachers (paired permutation test).",
            rule=in_regimes(Conditional(Sooner("teacher", "no prior"), Reached("no prior"))),
        ),
        Claim(
            name="nearly-the-oracle",
            statement="A teacher-derived structural prior transfers much of the oracle's acceleration.",
            text="In each regime, over the same seeds: taught runs take at most 1.25 times as long as runs with the oracle prior "
            "(interval of the paired ratio).",
            rule=in_regimes(Conditional(NoLater("teacher", "oracle"), Reached("no prior"))),
        ),
        Claim(
            name="sparsity",
            statement="Entropy and sparsity penalties accelerate grokking relative to weight decay alone.",
            text="In each regime and for each penalty: its best of three strengths, chosen on half of the seeds, reaches 99 % "
            "sooner than no prior on the other half (paired permutation test).",
            rule=in_regimes(InEach({kind: best_of(kind, "no prior") for kind in PENALTIES})),
        ),
        Claim(
            name="how-many",
            statement="Saying how many tokens matter, but not which, accelerates grokking.",
            text="The same for the penalty |H(α) − log k|.",
            rule=in_regimes(best_of("|H − log k|", "no prior")),
            of="ours",
        ),
        Claim(
            name="directed",
            statement="The KL prior is stronger because it is directed: sharpening alone is not enough.",
            text="In each regime: the oracle prior reaches 99 % sooner than the best strength of each penalty, chosen on half of "
            "the seeds and compared on the other half.",
            rule=in_regimes(Fastest("oracle", {"oracle": ["oracle"], **FAMILIES})),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
