"""The dial: what a distractor is decides everything. Grokking time with and without a prior against the distractor alphabet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.stats import spearmanr

from ...experiments.base import Claim, Ruling, crossed, experiment, kept
from ...experiments.rules import ALPHA, sooner_in_each, verdict_on
from .common import PAPER, PRIOR, QUICK
from .figures.dial import dial_points

if TYPE_CHECKING:
    import pandas as pd


ALPHABETS = (1, 2, 4, 8, 16, 32, 64, "operands")
DIAL = {f"q = {q}": {"task.alphabet": q} for q in ALPHABETS}


def further_off(runs: pd.DataFrame) -> Ruling:
    """Without a prior, D at memorisation against the place on the dial."""
    points, alphabets = dial_points(runs[runs["D_mem"].notna() & runs["arm"].str.endswith("no prior")])
    found = spearmanr(points["x"], points["D_mem"])
    verdict, _ = verdict_on({"": bool(found.statistic > 0) if found.pvalue < ALPHA else None})
    spans = [
        f"q = {alphabets[int(place)]}: {own['D_mem'].median():.2f} ({own['D_mem'].min():.2f}–{own['D_mem'].max():.2f}; {len(own)})"
        for place, own in points.groupby("x")
    ]
    correlation = f"rank correlation with the place on the dial {found.statistic:.2f}, p = {found.pvalue:.2g}"
    stats = {"rho": float(found.statistic), "p": float(found.pvalue), "n": len(points)}
    measured = f"median D at memorisation (range; runs): {' · '.join(spans)}\n{correlation}"
    return Ruling(verdict=verdict, measured=measured, test="Spearman's rank correlation", numbers=stats)


experiment(
    name="si-dial",
    paper="structural-inference",
    title="The dial",
    question="For which distractor alphabets is attention the bottleneck that the prior removes?",
    base=PAPER,
    arms=crossed(DIAL, PRIOR),
    seeds=10,
    quick=QUICK,
    quick_arms=kept(crossed(kept(("q = 1", "q = 4", "q = 16")), PRIOR)),
    claims=[
        Claim(
            name="helps",
            statement="The KL prior makes grokking come sooner, whatever the distractors are.",
            rule="At each alphabet: log-rank p < 0.05 after Holm's correction and the earlier median with the prior.",
            judge=sooner_in_each({arm: (f"{arm}, oracle", f"{arm}, no prior") for arm in DIAL}),
        ),
        Claim(
            name="further-off",
            statement="The more symbols distractors have, the further attention is from the informative tokens at memorisation.",
            rule="Holds if D at memorisation without a prior grows with the alphabet: Spearman p < 0.05.",
            judge=further_off,
        ),
    ],
    pictures={"times": "times", "dial": "si-dial", "memorisation": "si-dial-divergence"},
)
