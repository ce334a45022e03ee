"""Thm 5.2 over several runs: is the effective strength β̃ proportional to ηβ, with one constant for all strengths?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import linregress, t

from .base import CheckedStatement, Statement, fmt
from .prior import ENVELOPE

if TYPE_CHECKING:
    from .statements import Audit

PROPORTION = Statement("Thm 5.2", "β̃ is proportional to ηβ")

TOLERANCE = 0.25
"""Exponents within 1 ± this count as proportional."""
FEWEST = 3
"""Strengths that an exponent takes."""


def proportionality(audits: Sequence[Audit]) -> CheckedStatement:
    """The exponent of β̃ in ηβ over the runs with the oracle prior, with its 95 % interval; 1 is proportional."""
    found = [one.numbers for audit in audits for one in audit.statements if one.number == ENVELOPE.number]
    known = [one for one in found if np.isfinite(one.get("constant") or np.inf) and one.get("constant")]
    strengths = np.array([one["speed"] for one in known])
    constants = {fmt(s): [one["constant"] for one in known if fmt(one["speed"]) == fmt(s)] for s in np.sort(strengths)}
    each = ", ".join(f"{fmt(float(np.median(own)))} at ηβ = {s}" for s, own in constants.items())
    if len(constants) < FEWEST:
        return PROPORTION.skip(f"{len(constants)} strengths of the oracle prior, and an exponent takes {FEWEST}")
    rates = np.log([one["constant"] * one["speed"] for one in known])
    line = linregress(np.log(strengths), rates)
    reach = float(t.ppf(0.975, len(known) - 2) * line.stderr)
    low, high = float(line.slope - reach), float(line.slope + reach)
    text = f"β̃ grows as (ηβ)^{line.slope:.2f} (95 % interval {low:.2f} to {high:.2f}); median constant {each}."
    numbers = {"exponent": float(line.slope), "interval": [low, high], "runs": len(known)}
    if 1 - TOLERANCE <= low and high <= 1 + TOLERANCE:
        return PROPORTION.decide(True, text, **numbers)
    if high < 1 - TOLERANCE or low > 1 + TOLERANCE:
        return PROPORTION.decide(False, text, **numbers)
    return PROPORTION.skip(f"{text} That is neither proportional nor clearly not.", **numbers)
