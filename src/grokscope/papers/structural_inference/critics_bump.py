"""Critics 3: phase 3 predicts that the train loss rises before grokking, and no figure shows it. How often, by how much?

The runs without a prior of si-dial, at every alphabet that lets them grok.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...experiments.base import Claim, experiment, kept
from ...experiments.clauses import median_of
from ...experiments.rules import in_most_runs
from .common import PAPER, QUICK
from .dial import DIAL

if TYPE_CHECKING:
    import pandas as pd

ARMS = {arm: {**settings, "prior.beta": 0.0} for arm, settings in DIAL.items()}


def size(runs: pd.DataFrame) -> str:
    """How far the loss rises: in the median run, and at most."""
    middle = median_of("loss_bump", "largest loss over the minimum {}", "{:.3f}×".format)(runs)
    return f"{middle}, at most {runs['loss_bump'].max():.3g}×"


experiment(
    name="si-critics-bump",
    paper="structural-inference",
    title="The bump of phase 3",
    question="Does the train loss rise between the plateau and grokking, in how many runs, and by how much?",
    base=PAPER,
    arms=ARMS,
    seeds=10,
    quick=QUICK,
    quick_arms=kept(("q = 1", "q = 4", "q = 16")),
    claims=[
        Claim(
            name="bump",
            statement="The train loss rises slightly before grokking.",
            rule="Holds at an alphabet if in at least 80 % of the runs that grok the smoothed train loss rises by 10 % or more "
            "between its minimum on the plateau and t_grok.",
            judge=in_most_runs(
                list(ARMS),
                lambda runs: (runs["loss_bump"] >= 1.1).where(runs["loss_bump"].notna()),
                size,
            ),
        ),
        Claim(
            name="any-rise",
            statement="The train loss rises at all before grokking.",
            rule="Holds at an alphabet if in at least 80 % of the runs that grok it rises by 1 % or more.",
            judge=in_most_runs(
                list(ARMS),
                lambda runs: (runs["loss_bump"] >= 1.01).where(runs["loss_bump"].notna()),
                size,
            ),
        ),
    ],
    pictures={"loss": "si-bump"},
)
