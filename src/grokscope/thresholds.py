"""Whether an accuracy has reached a threshold. Decided here alone: for the stop rule, the grokking times and the papers' rules."""

from __future__ import annotations

from typing import Any, overload

ROUNDING = 1e-6
"""Slack of the comparison. An accuracy of 95/100 is stored in float32 as 0.94999999 and must count as 95 %."""


@overload
def reaches(accuracy: float, threshold: float) -> bool: ...
@overload
def reaches(accuracy: Any, threshold: float) -> Any: ...
def reaches(accuracy: Any, threshold: float) -> Any:
    """accuracy ≥ threshold, up to float32 rounding; elementwise for arrays, Series and tensors. NaN does not reach anything."""
    return accuracy >= threshold - ROUNDING
