"""Critics 1: no experiment of the paper varies the decay. Is the grokking time linear in 1/λ = 1/(lr·wd)?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from ...experiments.base import Claim, crossed, experiment, kept
from ...experiments.rules import broken_line
from ...figures import figures
from .common import PAPER, QUICK
from .equations import effective_decay
from .figures.delay import delay_against

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store.results import Results

RATES = {f"lr {lr:g}": {"optim.lr": lr} for lr in (1e-3, 2e-3, 4e-3)}
DECAYS = {f"wd {wd:g}": {"optim.weight_decay": wd} for wd in (0.5, 1.0, 2.0)}
ARMS = crossed(RATES, DECAYS)


def inverse_rate(runs: pd.DataFrame) -> pd.Series:
    """1/λ"""
    lr, weight_decay = (torch.tensor(runs[f"optim.{name}"].to_numpy(dtype=float)) for name in ("lr", "weight_decay"))
    return pd.Series(1 / np.asarray(effective_decay(lr, weight_decay)), index=runs.index)


LAW = broken_line(list(ARMS), inverse_rate, "1/λ")


@figures.register("si-lambda", takes="results", title="The 1/λ law")
def delay(results: Results) -> Figure:
    """Grokking time against 1/λ: pairs of lr and wd with one λ should fall together."""
    runs = results.runs
    points = runs.assign(panel="", series=runs["arm"].str.split(", ").str[0], x=inverse_rate(runs))
    return delay_against(points, name="1/λ = 1/(lr · wd) (steps)", laws={"": LAW(runs).numbers})


experiment(
    name="si-critics-lambda",
    paper="structural-inference",
    title="The 1/λ law",
    question="Does the wait scale as 1/(lr·wd) when both are varied separately?",
    base=PAPER,
    arms={name: {**settings, "task.alphabet": 4} for name, settings in ARMS.items()},
    quick=QUICK,
    quick_arms=kept(arm for arm in ARMS if arm != "lr 0.001, wd 0.5"),
    quick_seeds=2,
    claims=[
        Claim(
            name="law",
            statement="The plateau, and with it the grokking time, grows as 1/λ with λ = lr·wd.",
            rule="Holds if in the best fit of t = max(floor, a + b/λ) over nine pairs of lr and wd the bootstrap interval of b "
            "lies above 0 and R² ≥ 0.8; pairs with a run that never grokked are left out.",
            judge=LAW,
        ),
    ],
    pictures={"times": "times", "norm": "mlp-norm", "delay": "si-lambda"},
)
