"""From the second paper to the first: is a ticket's gain routing or representation? Attention pruned, the MLP pruned, or all,
on the transformer of structural inference among distractors; with D at step 0.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_95
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import Less, NoLater, Sooner, in_regimes
from ..structural_inference.common import PAPER as STRUCTURAL
from ..structural_inference.common import QUICK
from .common import PAPER, SEEDS, given, ticket

PARTS: Arms = {
    "ticket of attention": ticket(parts=["attention"]),
    "ticket of the MLP": ticket(parts=["mlp"]),
    "ticket of attention and MLP": ticket(parts=["attention", "mlp"]),
    "whole ticket": ticket(),
}
ARMS: Arms = {"dense": {}} | PARTS
BOTTLENECKS = list(REGIMES)[:2]
"""Among distractors from the operand vocabulary no dense network groks, so there is no ticket to take."""


SLACK = (
    "In each regime: agrees if the interval of the time ratio to the whole ticket ends below 1.25, disagrees if it lies "
    "above, given that the dense network generalised."
)

experiment(
    name="gt-bridge",
    paper=PAPER,
    title="Routing or representation",
    question="Is the gain of a ticket in where it looks or in what it computes?",
    base=STRUCTURAL,
    arms={arm: s for arm, s in by_regime(ARMS).items() if arm.startswith(tuple(BOTTLENECKS))},
    parts=BOTTLENECKS,
    seeds=SEEDS,
    differs="the network and task of the other paper; no experiment of the authors",
    quick=QUICK,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="gain",
            statement="The whole ticket groks sooner than the dense network.",
            text="In each regime, t_gen of the one against the other's: agrees if the paired permutation test finds it "
            "lower (p < 0.05), given that the dense network generalised.",
            rule=in_regimes(given(Sooner("whole ticket", "dense", FIRST_95)), BOTTLENECKS),
            of="ours",
        ),
        Claim(
            name="routing",
            statement="Pruning attention alone gives the whole gain.",
            text=SLACK,
            rule=in_regimes(given(NoLater("ticket of attention", "whole ticket", 1.25, FIRST_95)), BOTTLENECKS),
            of="ours",
        ),
        Claim(
            name="representation",
            statement="Pruning the MLP alone gives the whole gain.",
            text=SLACK,
            rule=in_regimes(given(NoLater("ticket of the MLP", "whole ticket", 1.25, FIRST_95)), BOTTLENECKS),
            of="ours",
        ),
        Claim(
            name="step-0",
            statement="Before the first step the ticket's attention is already nearer to the informative tokens.",
            text="In each regime, D at step 0 in the ticket of attention against the dense network, Wilcoxon's signed "
            "ranks over paired seeds (p < 0.05), given that the dense network generalised.",
            rule=in_regimes(given(Less("D_start", "ticket of attention", "dense")), BOTTLENECKS),
            of="ours",
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
