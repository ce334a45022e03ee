"""What distractors are: does the search help where attention finds the operands on its own?"""

from __future__ import annotations

from ...experiments.base import Claim, arms_over, experiment, kept
from ...experiments.rules import InEach, ShareAtLeast
from .common import BASE, COLLECTED, FOUND, QUICK, SETTINGS

ARMS = arms_over("task.alphabet", [1, 4, 16, "operands"], "q = {}")

experiment(
    name="search-alphabet",
    paper="search",
    title="Search: distractors",
    question="For which distractors is the support found, and for which does the search pay?",
    base=BASE,
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    quick_seeds=20,
    quick_arms=kept(["q = 1", "q = operands"]),
    claims=[
        Claim(
            name="found",
            statement="Whatever the alphabet of the distractors, the search names the true pair in at least 80 % of seeds.",
            rule=InEach({arm: ShareAtLeast(arm, 0.8, column="search_found") for arm in ARMS}),
            text="For each alphabet. " + FOUND.format("80 %"),
            of="ours",
            remark="With a constant symbol every winner generalises, but in 21 of 40 seeds it is not exactly the pair: a constant "
            "token beside it hardly matters, and rounding decides. The same command once more on the same device named the pair in "
            "14 instead of 19 seeds; of the other alphabets no seed changed.",
        ),
        Claim(
            name="not-where-free",
            statement="Where distractors are a constant symbol, the search does not pay: plain training takes fewer run-steps in "
            "most seeds.",
            rule=InEach({"q = 1": ShareAtLeast("q = 1", 0.5, column="plain_sooner")}),
            text="Agrees if the exact 95 % interval of the share of seeds in which plain training takes fewer run-steps to 99 % "
            "than all candidates together lies above 50 %, disagrees if it lies below.",
            of="ours",
        ),
    ],
    pictures={"steps": "search-steps"},
    collected=(*COLLECTED, "plain_sooner"),
    settings="ours",
    differs=SETTINGS,
)
