"""Longer sequences: is the pair still found, and does it still pay?"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import InEach, ShareAtLeast
from .common import BASE, COLLECTED, FOUND, QUICK, SETTINGS, SOONER

# Plain training gets more run-steps than all candidates together take; among many, nobody leads before the second rung, epoch 113.
EPOCHS = {2: 15_000, 6: 15_000, 14: 15_000, 30: 90_000, 62: 280_000}
# What takes so long is evaluated less often.
ARMS: Arms = {
    f"{count} distractors": {"task.distractors": count, "epochs": last} | ({"log.every": 100} if count > 14 else {})
    for count, last in EPOCHS.items()
}

experiment(
    name="search-length",
    paper="search",
    title="Search: length",
    question="Is the pair that matters found among 4 to 64 tokens, and sooner than plain training generalises?",
    base=BASE,
    arms=ARMS,
    seeds=20,
    quick=QUICK,
    quick_seeds=20,
    quick_arms={"2 distractors": {"epochs": 2000}},
    claims=[
        Claim(
            name="found",
            statement="With distractors from the operand vocabulary the search names the true pair in at least 60 % of seeds.",
            rule=InEach({arm: ShareAtLeast(arm, 0.6, column="search_found") for arm in ARMS}),
            text="For each length. " + FOUND.format("60 %"),
            of="ours",
        ),
        Claim(
            name="sooner",
            statement="With operand distractors the search reaches 99 % with fewer run-steps in total than plain training, in at "
            "least 60 % of seeds.",
            rule=InEach({arm: ShareAtLeast(arm, 0.6, column="search_sooner") for arm in ARMS}),
            text="For each length. " + SOONER.format("60 %"),
            of="ours",
        ),
    ],
    pictures={"steps": "search-steps"},
    collected=COLLECTED,
    settings="ours",
    differs=SETTINGS + " With 30 and 62 distractors runs are evaluated every 100 epochs, otherwise every 25.",
)
