"""Critics 1: no experiment of the paper varies the decay. Is the grokking time linear in 1/λ = 1/(lr·wd)?"""

from __future__ import annotations

from ..figures import grokking_times, mlp_norm
from .base import Claim, crossed, experiment
from .common import PAPER, QUICK
from .rules import broken_line

RATES = {f"lr {lr:g}": {"optim.lr": lr} for lr in (1e-3, 2e-3, 4e-3)}
DECAYS = {f"wd {wd:g}": {"optim.weight_decay": wd} for wd in (0.5, 1.0, 2.0)}
ARMS = crossed(RATES, DECAYS)

experiment(
    name="si-critics-lambda",
    paper="structural-inference",
    title="The 1/λ law",
    question="Does the wait scale as 1/(lr·wd) when both are varied separately?",
    base=PAPER,
    arms={name: {**settings, "task.alphabet": 4} for name, settings in ARMS.items()},
    quick={**QUICK, "task.alphabet": 4},
    claims=[
        Claim(
            name="law",
            statement="The plateau, and with it the grokking time, grows as 1/λ with λ = lr·wd.",
            rule="Holds if in the best fit of t = max(floor, a + b/λ) over nine pairs of lr and wd the bootstrap interval of b "
            "lies above 0 and R² ≥ 0.8; pairs with a run that never grokked are left out.",
            judge=broken_line(list(ARMS), lambda runs: 1 / (runs["optim.lr"] * runs["optim.weight_decay"]), "1/λ"),
        ),
    ],
    pictures={"times": grokking_times, "norm": mlp_norm},
)
