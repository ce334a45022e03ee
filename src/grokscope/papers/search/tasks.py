"""Other tasks: operations that do not commute, three operands, parities, permutations; and labels of which some are wrong."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment, kept
from ...experiments.rules import InEach, ShareAtLeast
from .common import BASE, COLLECTED, FOUND, QUICK, SETTINGS, parity

ARMS: Arms = {
    "addition": {},
    "addition, 5 % wrong labels": {"noise.labels": 0.05},
    "subtraction": {"task.op": "-", "task.train_fraction": 0.6},
    "multiplication": {"task.op": "*"},
    "three operands": {"task": "k-addition", "task.p": 23, "task.k": 3, "task.train_fraction": 0.5},
    "parity (20, 3)": parity(20),
    "parity (40, 3)": parity(40),
    "permutations": {"task": "permutation", "task.n": 5, "task.train_fraction": 0.6},
}
SMALL = {"subtraction": {"task.train_fraction": 0.8}}

experiment(
    name="search-tasks",
    paper="search",
    title="Search: tasks",
    question="For which tasks is the support found?",
    base=BASE,
    arms=ARMS,
    seeds=40,
    quick=QUICK,
    quick_seeds=20,
    quick_arms=kept(["addition", "addition, 5 % wrong labels"]) | SMALL,
    claims=[
        Claim(
            name="found",
            statement="The search names the true support of arithmetic, parity and permutation tasks in at least 80 % of seeds.",
            rule=InEach({arm: ShareAtLeast(arm, 0.8, column="search_found") for arm in ARMS}),
            text="For each task. " + FOUND.format("80 %"),
            of="ours",
        ),
    ],
    pictures={"steps": "search-steps"},
    collected=COLLECTED,
    settings="ours",
    differs=SETTINGS,
)
