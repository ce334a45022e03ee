"""t = floor + c·x^−s over the levels of a setting: the exponent with its interval, and whether the law fits at all.

Levels are fitted by their mean times, weighted by their variances; for a given s that is linear in floor ≥ 0 and c, so thousands of
resamples are one product. Whole seeds are resampled, since seed s has the same data at every level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

Array = np.ndarray

DRAWS = 4000
"""Resamples of the bootstraps."""
EXPONENTS = np.geomspace(0.05, 4, 80)
COARSE = EXPONENTS[::2]
"""Enough for simulations with few resamples."""
RIVALS: Mapping[str, float] = {"1/x": 1.0, "1/√x": 0.5, "log 1/x": 0.0, "1/x²": 2.0}
"""Laws that are compared, by their exponent; 0 stands for the logarithm."""
GROWTH = ("x", "√x", "log x", "x²")
"""The same where times grow with x."""


class PowerFit(NamedTuple):
    """What the levels say about the law with a given exponent."""

    floor: float
    slope: float
    """c of the law itself."""
    exponent: float
    """s of the best fit with s free."""
    low: float
    high: float
    """95 % interval of s, bootstrap over seeds."""
    p_below: float
    """One-sided bootstrap p of "s lies below the upper end of the tolerated range"."""
    p_above: float
    """One-sided bootstrap p of "s lies above the lower end"."""
    p_outside: float
    """One-sided bootstrap p of "s lies outside the range"."""
    lack_of_fit: float
    """p of "the law misses the means of the levels", whatever its floor, against the saturated model; wild bootstrap over seeds."""
    misfit: float
    """Root mean square of the relative deviations of the means from the law."""
    best: dict[str, float]
    """Share of resamples in which each rival law fits best."""
    open_floor: float
    """The floor of the law where it may lie below 0, as in the test of `lack_of_fit`."""
    open_slope: float
    """c beside that floor."""
    open_misfit: float
    """`misfit` with that floor."""

    @property
    def at_edge(self) -> bool:
        """Whether s lies where the exponents that are tried end, so that it and its interval mean "beyond"."""
        return not EXPONENTS[1] < self.exponent < EXPONENTS[-2]

    def describe(self, x: str, exponent: float) -> str:
        """The law, how well it fits, and which law fits best, in words."""
        best = ", ".join(f"{law} {100 * share:.0f} %" for law, share in self.best.items() if share)
        law = f"t = {self.floor:,.0f} + {self.slope:,.3g} · {x}^{-exponent:g}"
        lack, off = f"lack of fit p = {self.lack_of_fit:.2g}", f"relative deviation {100 * self.misfit:.0f} %"
        if self.open_floor < 0:
            below = f"{self.open_floor:,.0f} + {self.open_slope:,.3g} · {x}^{-exponent:g}"
            own = f"{lack}, relative deviation {100 * self.open_misfit:.0f} %"
            return f"{law} ({off}); with a floor below 0, {below} ({own}); fits best in resamples: {best}"
        return f"{law}; {lack} ({off}); fits best in resamples: {best}"


def fit_power_law(
    x: Array, times: Array, exponent: float = 1.0, tolerance: float = 0.25, draws: int = DRAWS
) -> PowerFit:
    """Fit times [seed, level] at the values x [level] of the setting; four levels or more.

    tolerance   relative: exponents within exponent·(1 ± tolerance) count as the law's
    """
    seeds = len(times)
    names = RIVALS if exponent > 0 else GROWTH
    if exponent < 0:
        x, exponent = 1 / x, -exponent
    scale = float(np.exp(np.log(x).mean()))
    x = x / scale  # the law is the same, and no power overflows
    mean = times.mean(0)
    spread = times.std(0, ddof=1)
    typical = np.sqrt(np.mean((spread / mean) ** 2)) * mean
    weight = seeds / np.maximum(spread, 0.5 * typical).clip(1e-9) ** 2
    generator = np.random.default_rng(0)
    drawn = generator.multinomial(seeds, np.full(seeds, 1 / seeds), draws) @ times / seeds  # [draw, level]
    both = np.concatenate([mean[None], drawn])
    tried = EXPONENTS if draws >= 1000 else COARSE
    errors = np.stack([_fit(_basis(x, s), both, weight)[2] for s in tried], axis=1)
    free = _minimum(tried, errors)
    low, high = np.quantile(free[1:], [0.025, 0.975])
    least, most = exponent * (1 - tolerance), exponent * (1 + tolerance)
    tails = [(np.sum(side) + 1) / (draws + 1) for side in (free[1:] >= most, free[1:] <= least)]
    inside = (np.sum((free[1:] > least) & (free[1:] < most)) + 1) / (draws + 1)
    floor, slope, _ = _fit(_basis(x, exponent), mean[None], weight)
    fitted = floor[0] + slope[0] * _basis(x, exponent)
    open_floor, open_slope, _ = _fit(_basis(x, exponent), mean[None], weight, open_floor=True)
    reached = open_floor[0] + open_slope[0] * _basis(x, exponent)
    rivals = np.stack([_fit(_basis(x, s), drawn, weight)[2] for s in RIVALS.values()])
    wins = np.bincount(rivals.argmin(0), minlength=len(RIVALS)) / draws
    return PowerFit(
        float(floor[0]),
        float(slope[0] * scale**exponent),
        float(free[0]),
        float(low),
        float(high),
        float(tails[0]),
        float(tails[1]),
        float(inside),
        _lack_of_fit(_basis(x, exponent), times, weight, draws),
        float(np.sqrt(np.mean((fitted / mean - 1) ** 2))),
        dict(zip(names, wins.tolist(), strict=True)),
        float(open_floor[0]),
        float(open_slope[0] * scale**exponent),
        float(np.sqrt(np.mean((reached / mean - 1) ** 2))),
    )


def _minimum(exponents: Array, errors: Array) -> Array:
    """Where each row of errors [draw, exponent] is least: the vertex of the parabola through the lowest point and its neighbours,
    on a log scale. The exponents are spaced evenly there."""
    at = errors.argmin(1).clip(1, len(exponents) - 2)
    left, middle, right = (np.take_along_axis(errors, (at + step)[:, None], 1)[:, 0] for step in (-1, 0, 1))
    curvature = left - 2 * middle + right
    step = np.where(curvature > 0, (left - right) / np.where(curvature > 0, 2 * curvature, 1), np.sign(left - right))
    logs = np.log(exponents)
    return np.exp(logs[at] + np.clip(step, -1, 1) * (logs[1] - logs[0]))


def _basis(x: Array, exponent: float) -> Array:
    return -np.log(x) if exponent == 0 else x**-exponent


def _fit(z: Array, mean: Array, weight: Array, open_floor: bool = False) -> tuple[Array, Array, Array]:
    """floor, slope and weighted error of mean [draw, level] ≈ floor + slope·z. A negative floor is set to 0, but
    where it is open, and for the logarithm, whose zero depends on the unit of x."""
    share = weight / weight.sum()
    middle, centre = mean @ share, z @ share
    slope = ((mean - middle[:, None]) * (z - centre)) @ weight / ((z - centre) ** 2 @ weight)
    floor = middle - slope * centre
    if (z > 0).all() and not open_floor:
        through = mean @ (weight * z) / (z**2 @ weight)
        slope, floor = np.where(floor < 0, through, slope), np.maximum(floor, 0)
    error = (mean - floor[:, None] - slope[:, None] * z) ** 2 @ weight
    return floor, slope, error


def _lack_of_fit(z: Array, times: Array, weight: Array, draws: int) -> float:
    """p of the weighted distance between the means and floor + slope·z, against random signs of the seeds' deviations."""
    seeds = len(times)
    root = np.sqrt(weight)
    design = root[:, None] * np.stack([np.ones_like(z), z], axis=1)
    q, _ = np.linalg.qr(design)
    off = np.eye(len(z)) - q @ q.T
    observed = ((root * times.mean(0)) @ off) ** 2
    deviation = (times - times.mean(0)) * np.sqrt(seeds / (seeds - 1))
    signs = 1 - 2 * np.random.default_rng(1).integers(0, 2, (draws, seeds))
    drawn = (((signs @ deviation / seeds) * root) @ off) ** 2
    drawn *= (seeds - 1) / max(seeds - 3, 1)  # the weights are estimated: E[1/s²] = (n − 1)/(n − 3) of a normal sample
    return float((np.sum(drawn.sum(1) >= observed.sum()) + 1) / (draws + 1))
