"""Figure 7: the subnetwork changes when test accuracy does. Jaccard distance between masks 2,000 epochs apart, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

from ...experiments.base import Claim, experiment
from ...experiments.rules import InEach, ShareAtLeast, WithinRange
from .columns import LAYERS
from .common import DENSE, LAYER_WISE, MLP, PAPER, QUICK, SEEDS

SHARE = 0.8


def together_claim(what: str = "test accuracy", layers: Sequence[str] = ("all",)) -> Claim:
    """That masks change most where test accuracy does."""
    return Claim(
        name="together",
        statement=f"The subnetwork changes most while {what} rises most.",
        text=f"After memorisation, the interval between checkpoints with the largest gain in {what} is among the quarter "
        f"with the largest Jaccard distance (rate 0.6): agrees for a layer if so in more than {100 * SHARE:.0f} % of the runs "
        "that gain at all, disagrees if in fewer.",
        rule=InEach({layer: ShareAtLeast("dense", SHARE, column=f"together, {layer}") for layer in layers}),
    )


experiment(
    name="gt-fig7",
    paper=PAPER,
    title="Structure and accuracy",
    question="Does the mask of each layer change fastest when test accuracy does?",
    base=MLP,
    arms=DENSE,
    seeds=2 * SEEDS,
    differs=f"one training run per seed stops soon after it generalised; {LAYER_WISE}",
    quick=QUICK,
    claims=[
        together_claim(layers=LAYERS),
        Claim(
            name="correlates",
            statement="The change of the subnetwork correlates strongly with the change of test accuracy.",
            text="Spearman's rank correlation of Jaccard distance and change of test accuracy over the intervals after "
            "memorisation, one value per run: agrees for a layer if the interval of its mean lies above 0.5, disagrees "
            "if below.",
            rule=InEach({layer: WithinRange(f"rank correlation, {layer}", "dense", 0.5, 1.01) for layer in LAYERS}),
        ),
    ],
    pictures={"accuracy": "train-test", "structure": "gt-structure"},
    probes=("jaccard",),
)
