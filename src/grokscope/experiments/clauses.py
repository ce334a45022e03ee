"""What was measured, in words and for machines: medians with their intervals, shares of runs, on any clock."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..analysis import kaplan_meier, unfinished
from ..analysis.shares import share_interval
from ..analysis.survival import Sample
from .clocks import Clock, times

DRAWS = 2000
"""Resamples of every bootstrap."""

KEY = (
    "Every effect comes with its 95 % interval. *Time ratio = 0.42 (0.31 to 0.55)*: the first arm's time over the second's, over "
    "the seeds with which both reached the threshold (Hodges–Lehmann). *Difference of shares that reach*: over all seeds. `1,875 "
    "(1,625–2,525; 20/20)` is the median epoch (Kaplan–Meier: runs that never reached count), its bootstrap interval, and how "
    "many runs reached. Seeds are paired. p is two-sided and corrected for the cases of its claim (Holm); q controls the "
    "false-discovery rate over all claims of the ledger (Benjamini–Hochberg): of a claim that agrees it is made of the largest p "
    "of its cases, since all must agree, of any other of the smallest p of the cases with its verdict. No verdict depends on q. "
    "*Agrees in part*: in the cases named, and not (or it cannot be told, or no run answers it) in the others. An arm that should "
    "be sooner *agrees* wherever that is shown, however little sooner it is (the case then says that the difference is within the "
    "margin); it *disagrees* where it is later, or not shown to be sooner but shown to be less than a tenth sooner. *Cannot be "
    "told*: the interval includes both answers. *Not tested*: no run answers it, for the reason given. Size and power are "
    "simulated for one case at the seeds it had: how often the rule agrees where the claim is just false, and where it is true by "
    "the effect named. Clocks: *first* crossing of an accuracy; *held* for 100 epochs; *stable* to the end of a run that trained "
    "on for at least as long again."
)
"""How to read a clause."""


def median(own: Sample) -> float:
    """Kaplan–Meier's, infinite where fewer than half of the runs grokked."""
    value = kaplan_meier(own).median.value
    return np.inf if value is None else value


def median_interval(own: Sample, draws: int = DRAWS) -> tuple[float, float]:
    """95 % bootstrap interval of the Kaplan–Meier median; infinite where it is not reached."""
    count = len(own.time)
    chosen = np.random.default_rng(0).integers(0, count, (draws, count))
    time, grokked = own.time[chosen], own.grokked[chosen]
    order = np.lexsort((~grokked, time), axis=-1)
    time, grokked = (np.take_along_axis(x, order, axis=-1) for x in (time, grokked))
    reached = np.cumprod(1 - grokked / np.arange(count, 0, -1), axis=-1) <= 0.5 + 1e-12
    medians = np.where(reached.any(-1), time[np.arange(draws), reached.argmax(-1)], np.inf)
    low, high = np.quantile(medians, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


def say(runs: pd.DataFrame, arm: str, clock: Clock, name: str | None = None) -> str:
    """`β = 0.3: 1,875 (1,625–2,525; 5/5)`; `name` in place of the arm's, none if empty."""
    own = times(runs, arm, clock)
    grokked = f"{int(own.grokked.sum())}/{len(own.time)}"
    name = arm if name is None else name
    label = f"{name}: " if name else ""
    if not own.grokked.any():
        ended = unfinished(runs.loc[runs["arm"] == arm, "status"]) if "status" in runs else ""
        never = "not" if ended else "never"
        last = own.time.max()
        by = f" by {clock.show(last)}{clock.unit}" if np.isfinite(last) else ""
        return f"{label}{never}{by} ({grokked}{ended})"
    low, high = (clock.show(x) if np.isfinite(x) else "never" for x in median_interval(own))
    middle = median(own)
    typical = f"{clock.show(middle)}{clock.unit}" if np.isfinite(middle) else "not reached"
    return f"{label}{typical} ({low}–{high}; {grokked})"


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return float(value) if np.isfinite(value) else None


def say_share(true: int, count: int) -> str:
    """`5/5 runs (95 % interval 48–100 %)`"""
    if not count:
        return "no run to judge"
    low, high = share_interval(true, count)
    return f"{true}/{count} runs (95 % interval {100 * low:.0f}–{100 * high:.0f} %)"
