"""Figure 1: the four phases. Test accuracy with D over epochs, and the task gradient on M.

Whether D falls before accuracy rises is asked in si-critics-precedence, whether the train loss rises in si-critics-bump.
"""

from __future__ import annotations

from ...experiments.base import Claim, experiment, kept
from ...experiments.clauses import median_of
from ...experiments.regimes import REGIMES
from ...experiments.rules import in_most_runs
from .common import PAPER, QUICK

ARMS = list(REGIMES)

experiment(
    name="si-fig1",
    paper="structural-inference",
    title="Four phases",
    question="Does a run without a prior memorise, starve attention, wait, and see the attention gradient return?",
    base=PAPER,
    arms=REGIMES,
    quick=QUICK,
    quick_arms=kept(("constant distractors", "q = 16")),
    claims=[
        Claim(
            name="starvation",
            statement="After memorisation the task gradient on attention falls by orders of magnitude.",
            rule="Holds if in at least 80 % of the runs the gradient on M falls to 1/100 of its peak or less after t_mem.",
            judge=in_most_runs(
                ARMS,
                lambda runs: (runs["gradient_fall"] <= 0.01).where(runs["gradient_fall"].notna()),
                median_of("gradient_fall", "falls to {} of the peak", "{:.2%}".format),
            ),
        ),
        Claim(
            name="resurgence",
            statement="The attention gradient returns before grokking (phase 3).",
            rule="Holds if in at least 80 % of the runs that grok the phase rule of `grokscope show` finds a resurgence "
            "(the gradient rises at least twofold between its valley and t_grok).",
            judge=in_most_runs(
                ARMS,
                lambda runs: runs["t_c"].notna().where(runs["t_grok"].notna()),
                median_of("gradient_rise", "rises {}", "{:.1f}×".format),
            ),
        ),
    ],
    pictures={"accuracy": "accuracy", "gradient": "gradient"},
)
