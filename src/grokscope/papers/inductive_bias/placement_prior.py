"""LayerNorm on the query/key path beside the KL prior: is what it costs a matter of where attention goes?"""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment
from ...experiments.rules import Alike, Greater, Sooner
from ..structural_inference.common import PRIOR
from .common import AMONG_DISTRACTORS, HARD, PLACEMENTS, SEEDS, quick

PLACES = {name: PLACEMENTS[name] for name in ("none", "attention input", "query/key path", "value path")}

experiment(
    name="ib-placement-prior",
    paper="inductive-bias",
    title="Placement and prior",
    question="Does LayerNorm on the query/key path delay grokking by what it does to attention?",
    differs=AMONG_DISTRACTORS,
    base=HARD,
    arms=crossed(PLACES, PRIOR),
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=3,
    claims=[
        Claim(
            name="delays",
            statement="LayerNorm on the query/key path alone makes grokking later than none.",
            rule=Sooner("none, no prior", "query/key path, no prior"),
            text="Runs without normalisation are sooner, paired by seed, both without a prior.",
        ),
        Claim(
            name="looks",
            of="ours",
            statement="LayerNorm on the query/key path keeps attention away from the informative tokens until "
            "memorisation.",
            rule=Greater("D_mem", "query/key path, no prior", "none, no prior"),
            text="D = KL(α*‖α) at t_mem is greater than without normalisation, paired by seed, both without a prior.",
        ),
        Claim(
            name="costs-nothing",
            of="ours",
            statement="Where the oracle prior tells attention where to go, LayerNorm on the query/key path changes "
            "nothing.",
            rule=Alike(("none, oracle", "query/key path, oracle"), 1.5),
            text="Under the oracle prior: time ratio within a factor of 1.5 (two one-sided tests).",
        ),
    ],
    pictures={"times": "times", "accuracy": "accuracy"},
)
