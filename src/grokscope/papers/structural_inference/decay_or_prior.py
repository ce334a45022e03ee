"""Ours: weight decay 3 groks as soon as the oracle prior does, and needs no knowledge. In each regime."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import InEach, NoLater, Sooner, in_regimes
from .common import DIFFERS, PAPER, PRIOR, QUICK

ARMS: Arms = PRIOR | {
    "weight decay 2": {"prior.beta": 0.0, "optim.weight_decay": 2.0},
    "weight decay 3": {"prior.beta": 0.0, "optim.weight_decay": 3.0},
    "weight decay 3, oracle": {"prior.beta": 0.3, "optim.weight_decay": 3.0},
}

experiment(
    name="si-decay",
    paper="structural-inference",
    title="More decay instead of knowledge",
    question="Does more weight decay do what the oracle prior does?",
    base=PAPER,
    differs=DIFFERS + " Weight decay 2 and 3 beside 1.",
    arms=by_regime(ARMS),
    seeds=20,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(("no prior", "oracle", "weight decay 3")),
    claims=[
        Claim(
            name="as-soon",
            statement="With weight decay 3 and no prior, grokking comes as soon as with the oracle prior.",
            text="In each regime: it takes at most 1.25 times as long to 99 % (interval of the paired ratio). Disagrees if the "
            "interval lies above.",
            rule=in_regimes(NoLater("weight decay 3", "oracle")),
            of="ours",
        ),
        Claim(
            name="decay-helps",
            statement="More weight decay makes grokking come sooner.",
            text="In each regime, for weight decay 2 and 3 against 1: paired permutation test. Eq. 5 predicts it.",
            rule=in_regimes(InEach({arm: Sooner(arm, "no prior") for arm in ("weight decay 2", "weight decay 3")})),
        ),
        Claim(
            name="still-helps",
            statement="With weight decay 3 the oracle prior still makes grokking come sooner.",
            text="In each regime: paired permutation test of weight decay 3 with and without the prior.",
            rule=in_regimes(Sooner("weight decay 3, oracle", "weight decay 3")),
            of="ours",
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
