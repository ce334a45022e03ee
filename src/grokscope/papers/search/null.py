"""A task without structure: labels at random. The search must say that there is no support."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import ShareAtMost
from .common import BASE, QUICK, SETTINGS

experiment(
    name="search-null",
    paper="search",
    title="Search: nothing to find",
    question="How often does the search name a support where labels are drawn at random?",
    base=BASE,
    arms={"random labels": {"noise.labels": 1.0, "epochs": 1000}},
    seeds=80,
    quick={**QUICK, "epochs": 300},
    quick_seeds=20,
    claims=[
        Claim(
            name="false-alarms",
            statement="Where labels are drawn at random, the search names a support in at most 5 % of seeds.",
            rule=ShareAtMost("random labels", 0.05, column="search_claimed"),
            text="Agrees if the exact 95 % interval of the share of seeds in which a support is named lies below 5 % (with 80 "
            "seeds: in none), disagrees if it lies above.",
            of="ours",
        ),
    ],
    pictures={"times": "times"},
    collected=("search_claimed", "search_decided"),
    settings="ours",
    differs=SETTINGS,
)
