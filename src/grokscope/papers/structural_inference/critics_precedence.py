"""Critics: does attention find the informative tokens before test accuracy rises, run by run, and by how many epochs?

The runs without a prior of si-dial, at every alphabet that lets them grok. D counts as fallen when it has passed halfway down on
a log scale, between its first and its lowest value; accuracy as risen at 50 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...experiments.base import Claim, experiment, kept
from ...experiments.clauses import median_of
from ...experiments.rules import in_most_runs
from .common import PAPER, QUICK
from .critics_bump import ARMS

if TYPE_CHECKING:
    pass


def signed(epochs: float) -> str:
    return f"{epochs:,.0f}".replace("-", "−")


experiment(
    name="si-critics-precedence",
    paper="structural-inference",
    title="Structure before accuracy",
    question="Does D fall before test accuracy rises, by how many epochs, and in how many runs not?",
    base=PAPER,
    arms=ARMS,
    seeds=10,
    quick=QUICK,
    quick_arms=kept(("q = 1", "q = 4", "q = 16")),
    claims=[
        Claim(
            name="precedence",
            statement="The attention posterior condenses before test accuracy rises.",
            rule="Holds at an alphabet if in at least 80 % of the runs that generalise D passes halfway down (log scale) before "
            "test accuracy passes 50 %.",
            judge=in_most_runs(
                list(ARMS),
                lambda runs: (runs["lead"] > 0).where(runs["lead"].notna()),
                median_of("lead", "lead {} epochs", signed),
            ),
        ),
        Claim(
            name="wait",
            statement="Structure is what the run waits for: once attention has condensed, accuracy follows soon.",
            rule="Holds at an alphabet if in at least 80 % of the runs that generalise the lead is at most a fifth of the time "
            "from the start to 50 % test accuracy.",
            judge=in_most_runs(
                list(ARMS),
                lambda runs: runs["lead"].between(0, runs["t_half"] / 5).where(runs["lead"].notna()),
                median_of("lead", "lead {} epochs", signed),
            ),
        ),
    ],
    pictures={"lead": "si-lead"},
)
