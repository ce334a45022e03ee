"""Learning rate at a fixed product with weight decay, and weight decay, with the authors' settings."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Differ, InEach, ShareAtMost, Sooner
from .common import AUTHORS, DIFFERS, SEEDS, quick, small
from .placement_authors import NONE

LR = AUTHORS.optim.lr
HORIZON = 10_000
"""Epochs that the authors train for."""
RATES: Arms = {"lr 0.001": NONE} | {
    f"lr {lr:g}": {"optim.lr": lr, "optim.weight_decay": LR / lr} for lr in (3e-3, 5e-3, 1e-2)
}
DECAYS: Arms = {f"wd {wd:g}": {"optim.weight_decay": wd} for wd in (0.5, 0.75, 1.5)}
DECAYS["wd 0.5"]["epochs"] = HORIZON

experiment(
    name="ib-rates-authors",
    paper="inductive-bias",
    title="Learning rate and weight decay (authors' settings)",
    question="How do learning rate, at the same product with weight decay, and weight decay modulate grokking?",
    settings="authors'",
    differs=DIFFERS,
    base=AUTHORS,
    arms=RATES | DECAYS,
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=2,
    quick_arms=small(RATES | DECAYS),
    claims=[
        Claim(
            name="rate",
            statement="At the same product of learning rate and weight decay, a larger learning rate makes grokking "
            "sooner.",
            rule=InEach({name: Sooner(name, "lr 0.001") for name in RATES if name != "lr 0.001"}),
            text="lr 0.003, 0.005 and 0.01 against 0.001, with wd = 0.001/lr, paired by seed.",
            reported="generalisation at about 7,750, 7,700, 6,600 and 4,500 epochs with lr 0.001, 0.003, 0.005 and "
            "0.01",
        ),
        Claim(
            name="rate-matters",
            of="ours",
            statement="The product of learning rate and weight decay does not determine the grokking time.",
            rule=Differ(tuple(RATES)),
            text="The four rates with the same product differ (permutation within seeds).",
        ),
        Claim(
            name="decay",
            statement="A larger weight decay makes grokking sooner.",
            rule=InEach(
                {
                    "1.5 against 1": Sooner("wd 1.5", "lr 0.001"),
                    "1 against 0.75": Sooner("lr 0.001", "wd 0.75"),
                    "0.75 against 0.5": Sooner("wd 0.75", "wd 0.5"),
                }
            ),
            text="Each weight decay against the next smaller one at lr 0.001, paired by seed.",
            reported="generalisation at about 6,400, 7,750 and 9,800 epochs with wd 1.5, 1 and 0.75",
        ),
        Claim(
            name="too-little",
            statement="With weight decay 0.5 networks do not generalise within 10,000 epochs.",
            rule=ShareAtMost("wd 0.5", 0.25),
            text="The exact interval of the share of runs that reach 99 % by epoch 10,000 lies below a quarter.",
            reported="no generalisation with wd 0.1, 0.2 and 0.5",
        ),
    ],
    pictures={"times": "times"},
)
