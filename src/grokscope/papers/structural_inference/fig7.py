"""Figure 7: schedules of the prior. Annealed, started late, or only an early pulse; in each regime."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import InEach, NoLater, Sooner, in_regimes
from .common import DIFFERS, PAPER, QUICK

HINT = {"prior.beta": 0.3}
SCHEDULES: Arms = {
    "annealed": {**HINT, "prior.schedule": "anneal", "prior.span": 1000.0},
    "late start": {**HINT, "prior.schedule": "late", "prior.span": 1000.0},
    "early pulse": {**HINT, "prior.schedule": "pulse", "prior.span": 200.0},
}
ARMS: Arms = {"no prior": {"prior.beta": 0.0}, "constant": HINT} | SCHEDULES

experiment(
    name="si-fig7",
    paper="structural-inference",
    title="When the hint comes",
    question="How long does the prior have to last, and may it come late?",
    base=PAPER,
    differs=DIFFERS + " The spans of the schedules are ours.",
    arms=by_regime(ARMS),
    seeds=20,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(
        ARMS,
        {
            "annealed": {"prior.span": 200.0},
            "late start": {"prior.span": 200.0},
            "early pulse": {"prior.span": 50.0},
        },
    ),
    claims=[
        Claim(
            name="any-time",
            statement="An annealed prior, a late start and a short early pulse all accelerate grokking.",
            text="In each regime and for each schedule: it reaches 99 % sooner than no prior (paired permutation test).",
            rule=in_regimes(InEach({arm: Sooner(arm, "no prior") for arm in ("constant", *SCHEDULES)})),
        ),
        Claim(
            name="nearly-constant",
            statement="They gain nearly as much as the constant prior.",
            text="In each regime and for each schedule: it takes at most 1.25 times as long as the constant prior (interval of "
            "the paired ratio).",
            rule=in_regimes(InEach({arm: NoLater(arm, "constant") for arm in SCHEDULES})),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
