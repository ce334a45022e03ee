"""Lemma 5.1: the task gradient on the attention logits under its bound, as logged. Above 1 there is a bug somewhere."""

from __future__ import annotations

import numpy as np

from .base import CheckedStatement, Statement, fmt
from .evidence import Evidence

LEMMA = Statement("Lemma 5.1", "attention gradient under its bound")

ROUNDING = {"float32": 1e-4, "tf32": 1e-2, "bf16": 1e-2}
"""By how much the ratio may exceed 1, by the precision of the run's matrix products."""


def starvation(run: Evidence) -> CheckedStatement:
    """Was the measured gradient ever above the bound?"""
    if run.config.constraint.attention != "learned":
        return LEMMA.skip("attention is frozen: no gradient reaches its logits")
    tight = run.column("bound_ratio")
    closed = run.column("grad_logit") / np.maximum(run.column("bound_paper"), np.finfo(np.float32).tiny)
    worst = int(tight.argmax())
    numbers = {
        "ratio_worst": float(tight[worst]),
        "ratio_median": float(np.median(tight)),
        "epoch_worst": int(run.epochs[worst]),
        "ratio_closed_worst": float(closed.max()),
        "ratio_closed_median": float(np.median(closed)),
        "evaluations": len(tight),
    }
    text = (
        f"Measured over bound: at most {fmt(float(tight[worst]))} (epoch {int(run.epochs[worst])}), median"
        f" {fmt(float(np.median(tight)))}; over the paper's closed form at most {fmt(float(closed.max()))},"
        f" median {fmt(float(np.median(closed)))}; {len(tight)} evaluations."
    )
    return LEMMA.decide(bool(tight[worst] <= 1 + ROUNDING[run.config.precision]), text, **numbers)
