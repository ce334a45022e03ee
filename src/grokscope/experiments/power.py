"""Simulated size and power of the rules at a number of seeds.

Pairs of log times are drawn with a common seed effect and normal noise; `spread` is the standard deviation of the log ratio in a
pair, taken from the runs and rounded, so that rules with like data share one simulation. Size is the share of "agrees" where the
claim is just false, power where it is true by the effect named beside it. One case, without Holm's correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.stats import binom, norm, t

from ..analysis.blocks import p_differ_in_tables
from ..analysis.correlation import rank_correlation
from ..analysis.pairs import p_ratio_above, p_ratio_below, p_sooner, sign_flip, signed_ranks
from ..analysis.powerlaw import fit_power_law
from ..analysis.shares import p_share_above
from ..analysis.survival import Sample
from .base import Simulated

TABLES = 400
"""Simulated tables of a cheap test."""
FEW = 100
"""Those of one that takes tens of milliseconds."""
SEVERAL = 2000
"""Those of several arms: the size is then known to half a percentage point."""
MANY = 60
"""Clusters from which on a formula takes the place of the simulation."""
LEVEL = 0.025
"""One-sided level at which a case is decided."""
SPREADS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5)


def spread_of(differences: np.ndarray) -> float:
    """Standard deviation rounded to one of SPREADS; 0.5 if it is unknown."""
    known = differences[np.isfinite(differences)]
    if len(known) < 3:
        return 0.5
    return float(SPREADS[np.abs(np.log(SPREADS) - np.log(max(known.std(ddof=1), 1e-3))).argmin()])


def pairs_of_times(
    seeds: int, spread: float, ratio: float, tables: int = TABLES, seed: int = 7
) -> tuple[Sample, Sample]:
    """Simulated tables of paired times [table, pair], of which all reach."""
    generator = np.random.default_rng(seed)
    common = generator.normal(0, spread, (tables, seeds))
    first, second = generator.normal(0, spread / np.sqrt(2), (2, tables, seeds)) + common
    reached = np.ones((tables, seeds), dtype=bool)
    return Sample(np.exp(first + np.log(ratio)), reached), Sample(np.exp(second), reached)


@lru_cache(maxsize=512)
def of_ratio(
    seeds: int, spread: float, below: float | None, above: float | None, null: float, alternative: float
) -> Simulated:
    """The claim is that the ratio of times lies below `below` and above `above`, where these are given."""

    def agrees(ratio: float) -> float:
        arm, other = pairs_of_times(seeds, spread, ratio)
        p = np.zeros(TABLES)
        if below is not None:
            p = np.maximum(p, p_ratio_below(arm, other, below, draws=2000))
        if above is not None:
            p = np.maximum(p, p_ratio_above(arm, other, above, draws=2000))
        return float((p < LEVEL).mean())

    return Simulated(agrees(null), agrees(alternative), f"a time ratio of {alternative:.2g}")


@lru_cache(maxsize=128)
def of_difference(seeds: int) -> Simulated:
    """Signed ranks of paired differences, against a shift by one standard deviation."""
    noise = np.random.default_rng(7).normal(0, 1, (TABLES, seeds))
    size, power = (float((sign_flip(signed_ranks(noise + shift), 2000) < LEVEL).mean()) for shift in (0, 1))
    return Simulated(size, power, "a shift by one standard deviation of the differences")


@lru_cache(maxsize=256)
def of_share(count: int, share: float) -> Simulated | None:
    """Exact: the claim is that the share lies above `share`; power halfway from there to 1."""
    if not count:
        return None
    enough = next((k for k in range(count + 1) if p_share_above(k, count, share) < LEVEL), count + 1)
    truth = (1 + share) / 2
    size, power = (float(binom.sf(enough - 1, count, at)) for at in (share, truth))
    return Simulated(size, power, f"a share of {100 * truth:.0f} %")


@lru_cache(maxsize=64)
def of_correlation(clusters: int) -> Simulated:
    """One point per cluster, ρ of 0 and 0.5. Of many clusters the normal approximation of Fisher's z."""
    if clusters > MANY:
        rank = 6 / np.pi * np.arcsin(0.5 / 2)  # Spearman's ρ of normal variables with correlation 0.5
        shift = np.arctanh(rank) * np.sqrt((clusters - 3) / 1.06)
        return Simulated(LEVEL, float(norm.sf(norm.isf(LEVEL) - shift)), "ρ = 0.5")
    generator = np.random.default_rng(7)

    def agrees(rho: float) -> float:
        x, noise = generator.normal(size=(2, FEW, clusters))
        y = rho * x + np.sqrt(1 - rho**2) * noise
        found = [rank_correlation(x[i], y[i], range(clusters), draws=200) for i in range(FEW)]
        return float(np.mean([one.p_above < LEVEL for one in found]))

    return Simulated(agrees(0.0), agrees(0.5), "ρ = 0.5")


def in_deviations(values: np.ndarray, width: float) -> float:
    """A width in standard deviations of the values, to one digit; 1 if they have none."""
    known = len(values) > 1 and bool(np.isfinite(values).all())
    return float(f"{width / max(float(values.std(ddof=1)), 1e-12):.1g}") if known else 1.0


@lru_cache(maxsize=64)
def of_range(count: int, half_width: float) -> Simulated | None:
    """Mean of normal values within ± half_width standard deviations: at the border, and one deviation inside it. The middle of a
    wide range, such as that of a bound on one side, is nowhere near what anyone expects."""
    if count < 2:
        return None

    def agrees(mean: float) -> float:
        noise = np.random.default_rng(7).normal(mean, 1, (4000, count))
        error = noise.std(1, ddof=1) / np.sqrt(count)
        reach = t.ppf(1 - LEVEL, count - 1) * error
        return float((np.abs(noise.mean(1)) + reach < half_width).mean())

    inside = max(half_width - 1, 0.0)
    where = "one standard deviation inside" if inside else "in the middle of"
    return Simulated(agrees(half_width), agrees(inside), f"a mean {where} the range")


def of_median(count: int) -> Simulated | None:
    """Exact, of sign tests of the median: at an end of the range, and where a quarter of the runs lie beyond one end."""
    found = of_share(count, 0.5)
    return found and found._replace(at="a quarter of the runs beyond one end of the range")


@lru_cache(maxsize=64)
def of_several(seeds: int, arms: int, spread: float) -> Simulated:
    """Several arms, of which none or one takes 1.5 times as long."""
    generator = np.random.default_rng(7)

    def agrees(ratio: float) -> float:
        logs = generator.normal(0, spread / np.sqrt(2), (SEVERAL, arms, seeds)) + generator.normal(
            0, spread, (SEVERAL, 1, seeds)
        )
        logs[:, 0] += np.log(ratio)
        tables = Sample(np.exp(logs), np.ones(logs.shape, dtype=bool))
        return float((p_differ_in_tables(tables, 400) < 2 * LEVEL).mean())

    return Simulated(agrees(1.0), agrees(1.5), "one arm 1.5 times as slow")


@lru_cache(maxsize=64)
def of_fastest(seeds: int, spreads: tuple[float, ...]) -> Simulated:
    """One arm against several others, of which all take 1.5 times as long, or one takes as long and the rest are far behind.

    spreads   of the log ratio to each of the others
    """
    generator = np.random.default_rng(7)
    own = min(spreads) / np.sqrt(2)
    arm = generator.normal(0, own, (TABLES, seeds))
    others = [generator.normal(0, np.sqrt(spread**2 - own**2), (TABLES, seeds)) for spread in spreads]
    reached = np.ones((TABLES, seeds), dtype=bool)

    def agrees(ratio: float, against: Sequence[np.ndarray]) -> float:
        first = Sample(np.exp(arm), reached)
        p = [p_sooner(first, Sample(np.exp(other) * ratio, reached), draws=2000) for other in against]
        return float((np.max(p, axis=0) < LEVEL).mean())

    return Simulated(agrees(1.0, others[:1]), agrees(1.5, others), "a time ratio of 0.67 to each of the others")


def floor_of(floor: float, slope: float, exponent: float, levels: np.ndarray) -> float:
    """The floor of a law, as a multiple of what is above it in the middle of the levels: one digit, at most 100."""
    above = slope * float(np.exp(np.mean(np.log(levels)))) ** -exponent
    return float(f"{min(max(floor, 0.0) / max(above, 1e-12), 100.0):.1g}")


@lru_cache(maxsize=64)
def of_law(
    seeds: int,
    levels: tuple[float, ...],
    spread: float,
    exponent: float,
    tolerance: float,
    floor: float = 1.0,
    misfit: float = np.inf,
) -> Simulated:
    """t = floor + x^−s, with x = 1 in the middle of the levels; s at the border and the law's.

    misfit   relative deviation of the means from the law above which a lack of fit counts against it
    """
    generator = np.random.default_rng(7)
    x = np.array(levels) / np.exp(np.mean(np.log(levels)))

    def agrees(s: float) -> float:
        noise = np.exp(generator.normal(0, spread / np.sqrt(2), (FEW, seeds, len(x))))
        fits = [fit_power_law(x, (floor + x**-s) * table, exponent, tolerance, draws=200) for table in noise]
        missed = [fit.misfit > misfit and fit.lack_of_fit / 2 < LEVEL for fit in fits]
        within = [max(fit.p_below, fit.p_above) < LEVEL for fit in fits]
        return float(np.mean(np.array(within) & ~np.array(missed)))

    return Simulated(agrees(exponent * (1 + tolerance)), agrees(exponent), f"an exponent of {exponent:g}")
