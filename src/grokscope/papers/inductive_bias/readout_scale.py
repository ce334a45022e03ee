"""Read-out scale as a control for lazy training, beside learning rate and weight decay, in a full factorial."""

from __future__ import annotations

from dataclasses import replace

from ...experiments.base import Claim, crossed, experiment
from ...experiments.rules import Differ, InEach
from ...tasks.modular import Modular
from ..structural_inference.common import MORE, PAPER, QUICK
from .common import AMONG_DISTRACTORS
from .factors import BestAlike, ExplainsMore

RATES = {f"lr {lr:g}": {"optim.lr": lr} for lr in (5e-4, 1e-3, 2e-3)}
DECAYS = {f"wd {wd:g}": {"optim.weight_decay": wd} for wd in (0.5, 1.0, 2.0)}
SCALES = {f"α = {scale:g}": {"model.readout_scale": scale} for scale in (0.3, 1.0, 3.0, 10.0)}
CELLS = crossed(RATES, DECAYS)

experiment(
    name="ib-readout-scale",
    paper="inductive-bias",
    title="Read-out scale, learning rate, weight decay",
    question="Does read-out scale still matter once learning rate and weight decay are matched?",
    differs=f"{AMONG_DISTRACTORS}. {MORE}",
    base=replace(PAPER, task=Modular(alphabet=4), epochs=12_000),
    arms=crossed(CELLS, SCALES),
    seeds=40,
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
            name="confounded",
            statement="Read-out scale as a control is confounded by learning rate and weight decay: they explain "
            "more of the grokking time than it does.",
            rule=ExplainsMore(("optim.lr", "optim.weight_decay"), "model.readout_scale"),
            text="Shares of the variance of the ranks of the first crossing of 99 % (runs that never reach it last) "
            "between pairs of lr and wd, and between scales: the 95 % interval (bootstrap over seeds) of their "
            "difference lies above 0; disagrees if below.",
            remark="How much each explains depends on what was tried: a factor of four in learning rate and in decay, of 33 in "
            "scale.",
        ),
        Claim(
            name="matched",
            of="ours",
            statement="At the same learning rate and weight decay, read-out scale changes the grokking time.",
            rule=InEach({cell: Differ(tuple(f"{cell}, {scale}" for scale in SCALES)) for cell in CELLS}),
            text="At each pair of lr and wd: the scales differ (permutation within seeds); disagrees if every two "
            "are alike within a quarter.",
        ),
        Claim(
            name="tuned",
            of="ours",
            statement="With learning rate and weight decay tuned for each scale, read-out scale no longer changes "
            "the grokking time.",
            rule=BestAlike({scale: tuple(f"{cell}, {scale}" for cell in CELLS) for scale in SCALES}, 1.25),
            text="Each scale's best of nine pairs, chosen by its median on half of the seeds: on the other half, "
            "time ratios within a factor of 1.25 of the first (two one-sided tests).",
            remark="Each scale's best pair is the largest learning rate with the largest decay that were tried: the best of all "
            "may lie beyond them, and there the scales may be closer.",
        ),
    ],
    pictures={"times": "ib-times"},
)
