"""What the metrics of a run say at one epoch of its plateau, from evaluations up to that epoch only."""

from __future__ import annotations

import numpy as np
import pandas as pd

MULTIPLES = (1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0, 15.0)
"""Epochs of observation, as multiples of t_mem."""

COLUMNS = {
    "log_D": ("D", np.log),
    "entropy": ("entropy", None),
    "mlp_norm": ("mlp_norm", np.log),
    "fourier_in": ("fourier_entropy_in", None),
    "fourier_out": ("fourier_entropy_out", None),
    "log_train_loss": ("train_loss", np.log),
    "log_test_loss": ("test_loss", np.log),
    "log_grad_M": ("grad_M", np.log),
    "logit_variance": ("logit_variance", np.log),
}
"""Features that are a metric, or its logarithm, at the epoch."""
METRICS = (*dict.fromkeys(metric for metric, _ in COLUMNS.values()), "l1", "l2")
"""Metrics that features are computed from."""


def features_at(metrics: pd.DataFrame, t_mem: float, epoch: float) -> dict[str, float]:
    """Features at the last evaluation at or before `epoch`; those of metrics that were not logged are missing.

    metrics   one row per evaluation, possibly thinned
    """
    seen = metrics[metrics["epoch"] <= epoch]
    if seen.empty:
        return {}
    now = seen.iloc[-1]
    found = {"log_t_mem": float(np.log(max(t_mem, 1.0)))}
    for name, (column, change) in COLUMNS.items():
        if column in seen and np.isfinite(value := float(now[column])):
            found[name] = float(change(max(value, 1e-12))) if change is not None else value
    if {"l1", "l2"} <= set(seen):
        found["sparsity"] = float(np.log(max(float(now["l1"]), 1e-12) / max(float(now["l2"]), 1e-12)))
    found |= _slope(seen, t_mem)
    found |= _oscillation(seen, epoch)
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _slope(seen: pd.DataFrame, t_mem: float) -> dict[str, float]:
    """d log ‖θ_MLP‖ / d log epoch over the last evaluations: from half of t_mem, or of the epoch, on."""
    if "mlp_norm" not in seen:
        return {}
    last = seen["epoch"].iloc[-1]
    recent = seen[(seen["epoch"] >= max(last / 2, 1)) & (seen["mlp_norm"] > 0)]
    if len(recent) < 3:
        return {}
    slope = np.polyfit(np.log(recent["epoch"].to_numpy(float)), np.log(recent["mlp_norm"].to_numpy(float)), 1)[0]
    return {"mlp_norm_slope": float(slope)}


def _oscillation(seen: pd.DataFrame, epoch: float) -> dict[str, float]:
    """Root mean square of the changes of log train loss around their mean, over the last half of the epochs (Notsawo et al.
    2023 read grokking from the oscillation of the early loss)."""
    recent = seen[seen["epoch"] >= epoch / 2]
    if "train_loss" not in seen or len(recent) < 4:
        return {}
    steps = np.diff(np.log(recent["train_loss"].clip(lower=1e-12).to_numpy(float)))
    return {"oscillation": float(np.log(np.std(steps) + 1e-6))}
