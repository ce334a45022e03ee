"""Does the precision of matrix products change when a run groks? The fast modes are of use only if it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...experiments.base import Arms, Claim, Ruling, experiment
from ...experiments.clauses import DRAWS, NotRunError, finite, say
from ...experiments.rules import verdict_on
from ..inductive_bias.rules import alike_in_each
from ..structural_inference.common import PAPER, QUICK

if TYPE_CHECKING:
    import pandas as pd

CHECKED = ("tf32", "bf16")
ARMS: Arms = {name: {"task.alphabet": 4, "precision": name} for name in ("float32", *CHECKED)}
WITHIN = (0.8, 1.25)
"""Ratios of medians that count as the same."""


def same_median(runs: pd.DataFrame) -> Ruling:
    """The median grokking time of each precision over that of float32, bootstrap over runs; runs that never grokked come last."""
    late = {arm: own["t_grok"].astype(float).fillna(np.inf).to_numpy() for arm, own in runs.groupby("arm")}
    if not set(ARMS) <= set(late):
        raise NotRunError(", ".join(ARMS))
    generator = np.random.default_rng(0)
    drawn = {arm: _middle(own[generator.integers(0, len(own), (DRAWS, len(own)))]) for arm, own in late.items()}
    outcomes: dict[str, bool | None] = {}
    lines, stats = [say(runs, "float32")], {}
    for arm in CHECKED:
        with np.errstate(invalid="ignore"):  # never over never is no ratio
            ratios = np.nan_to_num(drawn[arm] / drawn["float32"], nan=np.inf)
            ratio = float(_middle(late[arm]) / _middle(late["float32"]))
        low, high = (float(end) for end in np.quantile(ratios, [0.025, 0.975], method="inverted_cdf"))
        apart = high < WITHIN[0] or low > WITHIN[1]
        outcomes[arm] = True if low >= WITHIN[0] and high <= WITHIN[1] else False if apart else None
        lines.append(f"{say(runs, arm)}, {ratio:.2f} times float32's ({low:.2f}–{high:.2f})")
        stats[arm] = {"ratio": finite(ratio), "interval": [finite(low), finite(high)], "n": len(late[arm])}
    verdict, when = verdict_on(outcomes)
    test = "ratio of medians, bootstrap over runs"
    return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=test, numbers=stats)


def _middle(times: np.ndarray) -> np.ndarray:
    """The lower median, as Kaplan and Meier have it."""
    return np.sort(times, axis=-1)[..., (times.shape[-1] - 1) // 2]


experiment(
    name="speed-bf16",
    paper="speed",
    title="Precision",
    question="Does the precision of matrix products change when a run groks?",
    base=PAPER,
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    claims=[
        Claim(
            name="same",
            statement="TF32 and bf16 matrix products leave the distribution of grokking times as it is in float32.",
            rule="For each: does not hold if the log-rank test tells it from float32 (p < 0.05 after Holm's correction); else "
            "holds if the medians are within a factor of 1.5.",
            judge=alike_in_each({name: ("float32", name) for name in CHECKED}),
        ),
        Claim(
            name="median",
            statement="TF32 and bf16 matrix products leave the median grokking time within a quarter of float32's.",
            rule="For each: holds if the 95 % interval (bootstrap over runs) of the ratio of medians lies within 0.8 to 1.25, "
            "does not hold if it lies outside; runs that never grokked come last.",
            judge=same_median,
        ),
    ],
    pictures={"times": "times"},
)
