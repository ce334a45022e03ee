"""The dial: what a distractor is decides everything. Grokking time with and without a prior against the distractor alphabet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..figures import delay_against, grokking_times
from .base import Claim, crossed, experiment, kept
from .common import PAPER, PRIOR, QUICK
from .rules import sooner_in_each

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..store.results import Results

ALPHABETS = (1, 2, 4, 8, 16, 32, 64, "operands")
DIAL = {f"q = {q}": {"task.alphabet": q} for q in ALPHABETS}


def dial(results: Results) -> Figure:
    """Grokking time against the alphabet, with and without the prior."""
    runs = results.runs
    alphabets = [q.removeprefix("q = ") for q in dict.fromkeys(runs["arm"].str.split(", ").str[0])]
    place = runs["arm"].str.split(", ").str[0].str.removeprefix("q = ").map(alphabets.index)
    points = runs.assign(panel="", series=runs["arm"].str.split(", ").str[1], x=place)
    return delay_against(points, name="distractor symbols q", ticks=alphabets)


experiment(
    name="si-dial",
    paper="structural-inference",
    title="The dial",
    question="For which distractor alphabets is attention the bottleneck that the prior removes?",
    base=PAPER,
    arms=crossed(DIAL, PRIOR),
    seeds=10,
    quick=QUICK,
    quick_arms=kept(crossed(kept(("q = 1", "q = 4", "q = 16")), PRIOR)),
    claims=[
        Claim(
            name="helps",
            statement="The KL prior makes grokking come sooner, whatever the distractors are.",
            rule="At each alphabet: log-rank p < 0.05 after Holm's correction and the earlier median with the prior.",
            judge=sooner_in_each({arm: (f"{arm}, oracle", f"{arm}, no prior") for arm in DIAL}),
        ),
    ],
    pictures={"times": grokking_times},
    plots={"dial": dial},
)
