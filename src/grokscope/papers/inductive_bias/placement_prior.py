"""LayerNorm on the query/key path beside the KL prior: does the one do what the other does?"""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment
from ...experiments.rules import sooner
from ..structural_inference.common import PRIOR
from .common import HARD, PLACEMENTS, quick
from .rules import alike_in_each, lower

PLACES = {name: PLACEMENTS[name] for name in ("none", "attention input", "query/key path", "value path")}

experiment(
    name="ib-placement-prior",
    paper="inductive-bias",
    title="Placement and prior",
    question="Does LayerNorm on the query/key path do what a prior on attention does?",
    base=HARD,
    arms=crossed(PLACES, PRIOR),
    quick=quick(1500),
    quick_seeds=3,
    claims=[
        Claim(
            name="helps",
            statement="LayerNorm on the query/key path makes grokking come sooner, without a prior.",
            rule="Holds if its runs grok sooner than runs without normalisation (log-rank p < 0.05).",
            judge=sooner("query/key path, no prior", "none, no prior"),
        ),
        Claim(
            name="equals",
            statement="LayerNorm on the query/key path gains as much as the oracle prior does.",
            rule="Does not hold if the log-rank test tells it from the oracle prior without normalisation (p < 0.05); else "
            "holds if the medians are within a factor of 1.5.",
            judge=alike_in_each({"": ("query/key path, no prior", "none, oracle")}),
        ),
        Claim(
            name="looks",
            statement="LayerNorm on the query/key path turns attention towards the informative tokens by the time of memorisation.",
            rule="Holds if D = KL(α*‖α) at t_mem is lower than without normalisation, both without a prior (Mann–Whitney p < "
            "0.05).",
            judge=lower("D_mem", "query/key path, no prior", "none, no prior", "D at t_mem"),
        ),
        Claim(
            name="adds-nothing",
            statement="Under the oracle prior, LayerNorm on the query/key path changes nothing.",
            rule="Does not hold if the log-rank test tells the two apart (p < 0.05); else holds if the medians are within a "
            "factor of 1.5.",
            judge=alike_in_each({"": ("query/key path, oracle", "none, oracle")}),
        ),
    ],
    pictures={"times": "times", "accuracy": "accuracy"},
)
