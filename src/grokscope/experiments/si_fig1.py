"""Figure 1: the four phases. Test accuracy with D over epochs, and the task gradient on M."""

from __future__ import annotations

from ..figures import accuracy_and_divergence, gradient_under_bound
from .base import Claim, experiment
from .common import LONG, QUICK, REGIMES
from .rules import in_most_runs

ARMS = list(REGIMES)


def _median(column: str, text: str):  # type: ignore[no-untyped-def]
    return lambda runs: "" if runs[column].dropna().empty else text.format(runs[column].median())


experiment(
    name="si-fig1",
    paper="structural-inference",
    title="Four phases",
    question="Does a run without a prior memorise, starve attention, wait, and find the structure before it generalises?",
    base=LONG,
    arms=REGIMES,
    quick=QUICK,
    claims=[
        Claim(
            name="starvation",
            statement="After memorisation the task gradient on attention falls by orders of magnitude.",
            rule="Holds if in at least 80 % of the runs the gradient on M falls to 1/100 of its peak or less after t_mem.",
            judge=in_most_runs(
                ARMS,
                lambda runs: (runs["gradient_fall"] <= 0.01).where(runs["gradient_fall"].notna()),
                _median("gradient_fall", ", median fall to {:.2%} of the peak"),
            ),
        ),
        Claim(
            name="precedence",
            statement="The attention posterior condenses before test accuracy rises.",
            rule="Holds if in at least 80 % of the runs that generalise D passes halfway down (log scale) before test "
            "accuracy passes 50 %.",
            judge=in_most_runs(
                ARMS,
                lambda runs: (runs["lead"] > 0).where(runs["lead"].notna()),
                _median("lead", ", median lead {:,.0f} epochs"),
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
                _median("gradient_rise", ", median rise {:.1f}×"),
            ),
        ),
        Claim(
            name="bump",
            statement="The train loss rises slightly before grokking.",
            rule="Holds if in at least 80 % of the runs that grok the train loss rises by 10 % or more between its minimum on "
            "the plateau and t_grok.",
            judge=in_most_runs(
                ARMS,
                lambda runs: (runs["loss_bump"] >= 1.1).where(runs["loss_bump"].notna()),
                _median("loss_bump", ", median rise {:.2f}×"),
            ),
        ),
    ],
    pictures={"accuracy": accuracy_and_divergence, "gradient": gradient_under_bound},
)
