"""The clocks of the race: steps to 99 % test accuracy, by first crossing or stable, and the same in seconds and operations.

Columns are collected with the results (`grokscope.papers.race.collected`): for a search they count the steps of all candidates.
"""

from __future__ import annotations

from dataclasses import replace

from ..experiments.clocks import Clock

FIRST = Clock("race_first", end="race_end", name="first crossing of 99 %, in steps")
STABLE = Clock("race_stable", end="race_end", name="99 % stable to the end, in steps")
FIRST_SECONDS = replace(
    FIRST,
    per="seconds_per_epoch",
    over="race_steps_per_epoch",
    unit=" s",
    show="{:,.3g}".format,
    name="first crossing of 99 %, in seconds of a run alone",
)
FIRST_FLOPS = replace(
    FIRST,
    per="flops_per_epoch",
    over="race_steps_per_epoch",
    show="{:.3g}".format,
    name="first crossing of 99 %, in floating-point operations",
)
FIRST_95 = Clock("race_first_95", end="race_end", name="first crossing of 95 %, in steps")
