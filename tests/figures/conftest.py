"""Synthetic runs: a train curve that memorises, a test curve that rises at `t_grok`, and what the pictures read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from grokscope.figures import RunCurves

Make = Callable[..., RunCurves]


def make_run(
    arm: str = "no prior", seed: int = 0, t_grok: int | None = 400, last: int = 1000, length: int = 4, **given: Any
) -> RunCurves:
    epoch = np.unique(np.concatenate([[0], np.geomspace(1, last, 25).round()])).astype(np.int64)
    generalised = np.zeros(epoch.size) if t_grok is None else 1.0 * (epoch >= t_grok)
    loss = np.exp(-epoch / 20.0) + 1e-4
    table: dict[str, Any] = {
        "epoch": epoch,
        "train_accuracy": np.clip(epoch / 50, 0, 1),
        "test_accuracy": np.maximum(generalised, 0.1 + 0.01 * seed),
        "D": 0.05 + 0.9 * (1 - generalised),
        "grad_M": np.sqrt(loss),
        "grad_logit": 0.1 * np.sqrt(loss),
        "bound": np.sqrt(2 * loss),
        "bound_paper": 10 * np.sqrt(2 * loss),
        "bound_ratio": np.full(epoch.size, 0.0707),
        "mlp_norm": 10 + 5 * loss + seed,
        "train_loss": loss,
        "test_loss": 2.0 - 1.99 * generalised,
        "l1": 100 + 20 * loss,
        "l2": 5 + loss,
        "fourier_entropy_in": 3.5 - generalised,
        "fourier_entropy_out": 3.4 - generalised,
    }
    for position in range(length):
        table[f"attention_{position}"] = np.full(epoch.size, 1 / length)
    values: dict[str, Any] = {
        "phases": [("memorisation", 0, 50), ("plateau", 50, t_grok)] + ([("grokking", t_grok, None)] if t_grok else []),
        "t_mem": 50,
        "t_grok": t_grok,
        "status": "done" if t_grok is None else "grokked",
        "positions": ("a", "distractor 1", "b", "="),
        "informative": (0, 2),
    }
    return RunCurves(arm=arm, seed=seed, metrics=pd.DataFrame(table), **{**values, **given})


@pytest.fixture
def make() -> Make:
    return make_run


@pytest.fixture
def runs() -> list[RunCurves]:
    """Three arms of three seeds; the last arm never groks."""
    return [make_run(arm, seed, t and t + 50 * seed) for arm, t in ARMS.items() for seed in range(3)]


ARMS: dict[str, int | None] = {"no prior": 600, "oracle": 200, "adversarial": None}
