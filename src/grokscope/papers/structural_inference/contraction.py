"""Conj. E.1: on the plateau weight decay contracts the variance of the attention logits, and attention smooths towards uniform.

The runs without a prior of si-dial.
"""

from __future__ import annotations

import math

from ...experiments.base import Claim, experiment
from ...experiments.rules import InEach, WithinRange
from .common import DIFFERS, PAPER, QUICK
from .dial import UNTOLD

ARMS = {arm: UNTOLD[arm] for arm in ("q = 1", "q = 4", "q = 16", "q = 32")}

experiment(
    name="si-conj-e1",
    paper="structural-inference",
    title="Does attention smooth on the plateau?",
    question="Do logit variance and entropy do on the plateau what Conj. E.1 says?",
    base=PAPER,
    differs=DIFFERS + " 32 symbols train for 60,000 epochs.",
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    quick_arms={arm: {"epochs": 2000} for arm in ("q = 1", "q = 16")},
    claims=[
        Claim(
            name="variance",
            statement="Conj. E.1: on the plateau weight decay contracts the variance of the attention logits.",
            text="At each alphabet: the mean over runs of log Var(ℓ) at the end of the plateau (t_c, or t_grok if the gradient "
            "does not return) minus that at t_mem lies below 0. Disagrees if it lies above.",
            rule=InEach({arm: WithinRange("change of the logit variance", arm, -20.0, 0.0) for arm in ARMS}),
            remark="In most runs the gradient does not return, so that the end is t_grok, when attention has settled. A quarter "
            "into the wait the variance has fallen at every alphabet; where this disagrees it has risen again later.",
        ),
        Claim(
            name="entropy",
            statement="Conj. E.1: on the plateau the softmax smooths towards the uniform distribution.",
            text="At each alphabet: the mean over runs of the entropy of attention at the end of the plateau minus that at t_mem "
            "lies above 0. Disagrees if it lies below.",
            rule=InEach({arm: WithinRange("change of the entropy", arm, 0.0, math.log(5)) for arm in ARMS}),
            remark="The end is mostly t_grok, when attention has settled. A quarter into the wait, too, entropy has risen with "
            "constant symbols alone.",
        ),
    ],
    curves=("entropy", "logit_variance"),
    pictures={"smoothing": "si-smoothing"},
)
