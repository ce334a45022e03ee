"""From the second paper to the first: is a ticket's gain routing or representation? Attention pruned, the MLP pruned, or all,
on the transformer of structural inference among distractors; with D and the least mass on an informative token at step 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import mannwhitneyu

from ...experiments.base import Arms, Claim, Ruling, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import ALPHA, no_later_in_each, regime_pairs, sooner_in_each, verdict_on
from ..structural_inference.common import PAPER as STRUCTURAL
from ..structural_inference.common import QUICK
from .common import PAPER, ticket
from .rules import value_at

if TYPE_CHECKING:
    from ...store.results import Results

PARTS: Arms = {
    "ticket of attention": ticket(parts=["attention"]),
    "ticket of the MLP": ticket(parts=["mlp"]),
    "ticket of attention and MLP": ticket(parts=["attention", "mlp"]),
    "whole ticket": ticket(),
}
ARMS: Arms = {"dense": {}} | PARTS
BOTTLENECKS = list(REGIMES)[:2]
"""Among distractors from the operand vocabulary no dense network groks, so there is no ticket to take."""


def routed_at_once(results: Results) -> Ruling:
    """D at step 0: lower in the ticket of attention than in the dense network, regime by regime."""
    start, worst = (value_at(results, column, 0) for column in ("D", "mass_worst"))
    outcomes: dict[str, bool | None] = {}
    lines, stats = [], {}
    for regime in REGIMES:
        arms = [f"{regime}, {arm}" for arm in ("ticket of attention", "dense")]
        own, dense = (start.loc[start["arm"] == arm, "value"].to_numpy(dtype=float) for arm in arms)
        if not len(own) or not len(dense):
            continue
        p = float(mannwhitneyu(own, dense).pvalue)
        outcomes[regime] = bool(np.median(own) < np.median(dense)) if p < ALPHA else None
        masses = [float(worst.loc[worst["arm"] == arm, "value"].median()) for arm in arms]
        lines.append(
            f"{regime}: D {np.median(own):.3f}, least mass {masses[0]:.3f} · dense: D {np.median(dense):.3f}, "
            f"least mass {masses[1]:.3f} · p = {p:.2g}"
        )
        stats[regime] = {"D": float(np.median(own)), "dense": float(np.median(dense)), "p": p, "mass": masses}
    verdict, when = verdict_on(outcomes)
    return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test="Mann–Whitney", numbers=stats)


experiment(
    name="gt-bridge",
    paper=PAPER,
    title="Routing or representation",
    question="Is the gain of a ticket in where it looks or in what it computes?",
    base=STRUCTURAL,
    arms={arm: s for arm, s in by_regime(ARMS).items() if arm.startswith(tuple(BOTTLENECKS))},
    parts=BOTTLENECKS,
    quick=QUICK,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="gain",
            statement="The whole ticket groks sooner than the dense network.",
            rule="Holds in a regime if log-rank p < 0.05 after Holm's correction over the regimes, with the earlier median.",
            judge=sooner_in_each(regime_pairs(("whole ticket", "dense"))),
        ),
        Claim(
            name="routing",
            statement="Pruning attention alone gives the whole gain.",
            rule="Holds in a regime if its median is at most 1.25 times the whole ticket's; does not hold if the log-rank test "
            "(p < 0.05 after Holm's correction) finds it later.",
            judge=no_later_in_each(regime_pairs(("ticket of attention", "whole ticket"))),
        ),
        Claim(
            name="representation",
            statement="Pruning the MLP alone gives the whole gain.",
            rule="Holds in a regime if its median is at most 1.25 times the whole ticket's; does not hold if the log-rank test "
            "(p < 0.05 after Holm's correction) finds it later.",
            judge=no_later_in_each(regime_pairs(("ticket of the MLP", "whole ticket"))),
        ),
        Claim(
            name="step-0",
            statement="Before the first step the ticket's attention is already nearer to the informative tokens.",
            rule="Holds in a regime if D at step 0 is lower in the ticket of attention than in the dense network: "
            "Mann–Whitney p < 0.05.",
            judge_all=routed_at_once,
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
