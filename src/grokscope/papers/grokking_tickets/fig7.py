"""Figure 7: the subnetwork changes when test accuracy does. Jaccard distance between masks 2,000 epochs apart."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from .common import DENSE, MLP, PAPER, QUICK
from .rules import structure_moves_with_accuracy

experiment(
    name="gt-fig7",
    paper=PAPER,
    title="Structure and accuracy",
    question="Does the mask change fastest when test accuracy does?",
    base=MLP,
    arms=DENSE,
    quick=QUICK,
    claims=[
        Claim(
            name="together",
            statement="The subnetwork changes most while test accuracy rises most.",
            rule="After memorisation, the interval between checkpoints with the largest gain in test accuracy is among the quarter "
            "with the largest Jaccard distance (all layers, rate 0.6): holds if so in at least 80 % of the runs that gain at all.",
            judge_all=structure_moves_with_accuracy(["dense"]),
        ),
    ],
    pictures={"accuracy": "train-test", "structure": "gt-structure"},
    probes=("jaccard",),
)
