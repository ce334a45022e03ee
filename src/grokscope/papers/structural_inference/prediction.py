"""Ours: what is known at memorisation of when a run will grok. The runs without a prior of si-dial."""

from __future__ import annotations

from ...analysis import plateau_features
from ...experiments.base import Claim, experiment
from ...experiments.clocks import FIRST_99
from ...experiments.rules import Correlated, InEach
from .common import DIFFERS, PAPER, QUICK
from .dial import UNTOLD

ARMS = {arm: UNTOLD[arm] for arm in ("q = 1", "q = 4", "q = 16", "q = 32")}


def related(column: str) -> InEach:
    return InEach({arm: Correlated(column, FIRST_99, 1, arms=[arm]) for arm in ARMS})


experiment(
    name="si-prediction",
    paper="structural-inference",
    title="Known at memorisation",
    question="Does D at memorisation say which seeds will grok late?",
    base=PAPER,
    differs=DIFFERS + " 32 symbols train for 60,000 epochs.",
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    quick_arms={arm: {"epochs": 2000} for arm in ("q = 1", "q = 16")},
    claims=[
        Claim(
            name="divergence",
            statement="Seeds whose attention is further from the oracle when they memorise grok later.",
            text="At each alphabet: Spearman's ρ of D at t_mem and the time to 99 % over seeds lies above 0 (bootstrap; runs "
            "that never grok come last).",
            rule=related("D_mem"),
            of="ours",
        ),
        Claim(
            name="beside-the-norm",
            statement="They do so whatever the norm of their MLP is then.",
            text="The same with what the rank of the MLP norm at t_mem predicts removed from the rank of D.",
            rule=related("D at memorisation, MLP norm removed"),
            of="ours",
        ),
        Claim(
            name="norm",
            statement="Seeds whose MLP norm is larger when they memorise grok later.",
            text="At each alphabet: Spearman's ρ of the MLP norm at t_mem and the time to 99 % lies above 0. This is what Eq. 5 "
            "predicts: a larger ‖θ_mem‖ has further to fall.",
            rule=related("mlp_norm_mem"),
        ),
    ],
    curves=plateau_features.METRICS,
    pictures={"times": "times", "divergence": "si-prediction"},
)
