"""Read-out scale as a control for lazy training, beside learning rate and weight decay, in a full factorial."""

from __future__ import annotations

from dataclasses import replace

from ...experiments.base import Claim, crossed, experiment
from ...tasks.modular import Modular
from ..structural_inference.common import PAPER, QUICK
from .rules import best_alike, differ_in_each, explains_more

RATES = {f"lr {lr:g}": {"optim.lr": lr} for lr in (5e-4, 1e-3, 2e-3)}
DECAYS = {f"wd {wd:g}": {"optim.weight_decay": wd} for wd in (0.5, 1.0, 2.0)}
SCALES = {f"α = {scale:g}": {"model.readout_scale": scale} for scale in (0.3, 1.0, 3.0, 10.0)}
CELLS = crossed(RATES, DECAYS)

experiment(
    name="ib-readout-scale",
    paper="inductive-bias",
    title="Read-out scale, learning rate, weight decay",
    question="Does read-out scale still matter once learning rate and weight decay are matched?",
    base=replace(PAPER, task=Modular(alphabet=4), epochs=12_000),
    arms=crossed(CELLS, SCALES),
    quick={**QUICK, "epochs": 1500},
    quick_seeds=2,
    # the quick size trains ten times as fast; four pairs of lr and wd, three scales
    quick_arms={
        f"lr {lr:g}, wd {wd:g}, α = {scale:g}": {"optim.lr": 10 * lr}
        for lr in (5e-4, 1e-3)
        for wd in (1.0, 2.0)
        for scale in (0.3, 1.0, 10.0)
    },
    claims=[
        Claim(
            name="matched",
            statement="At the same learning rate and weight decay, read-out scale changes the grokking time.",
            rule="At each pair of lr and wd: holds if the log-rank test over the scales gives p < 0.05 after Holm's "
            "correction; does not hold if it does not and all medians are within a factor of 1.5.",
            judge=differ_in_each({cell: [f"{cell}, {scale}" for scale in SCALES] for cell in CELLS}),
        ),
        Claim(
            name="tuned",
            statement="With learning rate and weight decay tuned for each scale, read-out scale no longer changes the grokking "
            "time.",
            rule="Each scale's best of nine pairs (earliest median): does not hold if the log-rank test over them gives p < "
            "0.05; holds if it does not and their medians are within a factor of 1.5.",
            judge=best_alike({scale: [f"{cell}, {scale}" for cell in CELLS] for scale in SCALES}),
        ),
        Claim(
            name="confounded",
            statement="Learning rate and weight decay explain more of the grokking time than read-out scale does.",
            rule="Share of the variance of the ranks of t_grok (runs that never grokked last) between pairs of lr and wd, and "
            "between scales: holds if the 95 % bootstrap interval of the difference lies above 0, does not hold if below.",
            judge=explains_more(
                ["optim.lr", "optim.weight_decay"], "model.readout_scale", ("learning rate and weight decay", "scale")
            ),
        ),
    ],
    pictures={"times": "ib-times"},
)
