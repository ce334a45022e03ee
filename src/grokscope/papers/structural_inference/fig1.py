"""Figure 1: the four phases. Test accuracy with D over epochs, and the task gradient on M.

Whether D falls before the test loss is asked in si-critics-precedence, whether the train loss rises in si-critics-bump.
"""

from __future__ import annotations

from ...experiments.base import Claim, experiment, kept
from ...experiments.regimes import REGIMES
from ...experiments.rules import InEach, ShareAtLeast, WithinRange
from .common import DIFFERS, GRADIENT, PAPER, QUICK

ARMS = list(REGIMES)

experiment(
    name="si-fig1",
    paper="structural-inference",
    title="Four phases",
    question="Does a run without a prior memorise, starve attention, wait, and see the attention gradient return?",
    base=PAPER,
    differs=DIFFERS,
    arms=REGIMES,
    seeds=40,
    quick=QUICK,
    quick_arms=kept(("constant distractors", "q = 16")),
    claims=[
        Claim(
            name="starvation",
            statement="After an initial spike the task gradient on attention collapses to a tiny residual signal.",
            text="In each regime: the mean of log10 of the lowest gradient on M between t_mem and t_grok over its peak lies below "
            "−2, that is, the gradient falls to 1/100 or less. Disagrees if it lies above.",
            rule=InEach(
                {arm: WithinRange("log10 of the fall of the attention gradient", arm, -12.0, -2.0) for arm in ARMS}
            ),
            remark="This takes the lowest of all evaluations on the plateau, of a noisy gradient, and compares it with nothing. At "
            "an epoch named beforehand it has not reliably fallen to a tenth, nor further than the MLP's: see causes-collapse.",
        ),
        Claim(
            name="resurgence",
            statement="The structural gradient is reactivated before grokking (phase 3).",
            text="In each regime: in at least 80 % of the runs that grok the phase rule of `grokscope show` finds a resurgence "
            "(the gradient rises at least twofold between its valley and t_grok); exact binomial interval.",
            rule=InEach({arm: ShareAtLeast(arm, 0.8, column="attention gradient returned") for arm in ARMS}),
        ),
    ],
    curves=GRADIENT,
    pictures={"accuracy": "accuracy", "gradient": "gradient"},
)
