"""Figure 7: schedules of the prior. Annealed, started late, or only an early pulse."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import sooner_in_each
from .common import PAPER, QUICK

HINT = {"prior.beta": 0.3}

experiment(
    name="si-fig7",
    paper="structural-inference",
    title="When the hint comes",
    question="How long does the prior have to last, and may it come late?",
    base=PAPER,
    arms={
        "no prior": {"prior.beta": 0.0},
        "constant": HINT,
        "annealed": {**HINT, "prior.schedule": "anneal", "prior.span": 1000.0},
        "late start": {**HINT, "prior.schedule": "late", "prior.span": 1000.0},
        "early pulse": {**HINT, "prior.schedule": "pulse", "prior.span": 200.0},
    },
    quick=QUICK,
    quick_arms={
        "no prior": {},
        "constant": {},
        "annealed": {"prior.span": 200.0},
        "late start": {"prior.span": 200.0},
        "early pulse": {"prior.span": 50.0},
    },
    claims=[
        Claim(
            name="any-time",
            statement="An annealed prior, a late start and a short early pulse all gain, nearly as the constant prior does.",
            rule="For each schedule: log-rank p < 0.05 against no prior after Holm's correction, with the earlier median.",
            judge=sooner_in_each(
                {arm: (arm, "no prior") for arm in ("constant", "annealed", "late start", "early pulse")}
            ),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
