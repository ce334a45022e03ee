"""Figures 22 and 23: learning rate and weight decay against τ_grok, on the dense MLP."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import never_groks, sooner
from .common import GENERALISED, MLP, PAPER, QUICK, last_only
from .figures.ratio import ratio_against

RATES: Arms = {f"lr {lr:g}, decay 1": {"optim.lr": lr} for lr in (1e-4, 1e-3, 3e-3, 1e-2)}
DECAYS: Arms = {f"lr 0.01, decay {wd:g}": {"optim.lr": 1e-2, "optim.weight_decay": wd} for wd in (0.1, 0.3, 3.0, 10.0)}

experiment(
    name="gt-fig22",
    also=("gt-fig23",),
    paper=PAPER,
    title="Learning rate and weight decay",
    question="How do learning rate and weight decay move the delay?",
    base=MLP,
    arms=last_only(RATES | DECAYS),
    quick=QUICK,
    quick_arms={
        arm: {"epochs": 4000}
        for arm in ("lr 0.003, decay 1", "lr 0.01, decay 1", "lr 0.01, decay 0.3", "lr 0.01, decay 3")
    },
    quick_seeds=2,
    claims=[
        Claim(
            name="lr",
            statement="A larger learning rate (0.01) generalises sooner than 0.0001.",
            rule="Holds if t_gen is earlier: log-rank p < 0.05.",
            judge=sooner("lr 0.01, decay 1", "lr 0.0001, decay 1", GENERALISED),
        ),
        Claim(
            name="fails",
            statement="With a learning rate of 0.001 and weight decay 1 the network never generalises.",
            reported="τ_grok is NaN at 0.001 (App. M), although §3.1 names this learning rate as the one of all experiments",
            rule="Holds if no run with learning rate 0.001 and weight decay 1 reaches 99 % test accuracy.",
            judge=never_groks(["lr 0.001, decay 1"]),
        ),
        Claim(
            name="decay",
            statement="A larger weight decay (10) generalises sooner than 0.1.",
            rule="Holds if t_gen is earlier: log-rank p < 0.05.",
            judge=sooner("lr 0.01, decay 10", "lr 0.01, decay 0.1", GENERALISED),
        ),
    ],
    pictures={
        "accuracy": "train-test",
        "learning-rate": partial(ratio_against, by="optim.lr", name="learning rate, weight decay 1", arms=list(RATES)),
        "weight-decay": partial(
            ratio_against,
            by="optim.weight_decay",
            name="weight decay, learning rate 0.01",
            arms=["lr 0.01, decay 1", *DECAYS],
        ),
    },
)
