"""Rules that turn runs into verdicts. Each gives a judge: a function from the table of runs to a Ruling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, spearmanr

from ..analysis import holm, kaplan_meier, log_rank, sample
from ..analysis.survival import Sample
from .base import Ruling

Judge = Callable[[pd.DataFrame], Ruling]

ALPHA = 0.05
"""Level of every test."""


def times(runs: pd.DataFrame, arm: str) -> Sample:
    """Grokking times of one arm; runs that never grokked are censored at their last epoch."""
    own = runs[runs["arm"] == arm]
    if own.empty:
        raise KeyError(arm)
    return sample(own["t_grok"].astype(float), own["epoch"].astype(float))


def say(runs: pd.DataFrame, arm: str) -> str:
    """`q = 16: median 4,800 (4,200 to 6,100), 5 of 5`"""
    own = times(runs, arm)
    median = kaplan_meier(own).median.value
    spread = own.time[own.grokked]
    words = "no median" if median is None else f"median {median:,.0f}"
    words += f" ({spread.min():,.0f} to {spread.max():,.0f})" if len(spread) else ""
    return f"{arm}: {words}, {len(spread)} of {len(own.time)} grokked"


def numbers(runs: pd.DataFrame, *arms: str) -> dict[str, Any]:
    """Median, interval, n and n never grokked of each arm, for machines."""
    told = {}
    for arm in arms:
        own = times(runs, arm)
        median = kaplan_meier(own).median
        told[arm] = {
            "median": median.value,
            "interval": [median.lower, median.upper],
            "n": len(own.time),
            "never": int((~own.grokked).sum()),
        }
    return told


def sooner(arm: str, other: str) -> Judge:
    """Holds if the log-rank test tells the arms apart and `arm` has the earlier median."""

    def judge(runs: pd.DataFrame) -> Ruling:
        first, second = times(runs, arm), times(runs, other)
        p = log_rank(first, second).p
        medians = [kaplan_meier(s).median.value for s in (first, second)]
        early = medians[0] is not None and (medians[1] is None or medians[0] < medians[1])
        measured = f"{say(runs, arm)}; {say(runs, other)}; log-rank p = {p:.2g}."
        verdict = ("holds" if early else "does not hold") if p < ALPHA else "not decided"
        return Ruling(verdict=verdict, measured=measured, numbers={**numbers(runs, arm, other), "p": p})  # type: ignore[arg-type]

    return judge


def groks(arms: Sequence[str], share: float) -> Judge:
    """Holds if at least `share` of the runs of every arm grok."""
    return _shares(arms, lambda grokked: grokked >= share)


def never_groks(arms: Sequence[str]) -> Judge:
    """Holds if no run of any of the arms groks."""
    return _shares(arms, lambda grokked: grokked == 0)


def _shares(arms: Sequence[str], good: Callable[[float], bool]) -> Judge:
    def judge(runs: pd.DataFrame) -> Ruling:
        shares = {arm: float(times(runs, arm).grokked.mean()) for arm in arms}
        passed = [arm for arm in arms if good(shares[arm])]
        measured = "; ".join(f"{say(runs, arm)}, best test accuracy {_best(runs, arm):.0%}" for arm in arms) + "."
        told = {**numbers(runs, *arms), "shares": shares}
        if passed and len(passed) < len(arms):
            return Ruling(verdict="holds only when", when=" or ".join(passed), measured=measured, numbers=told)
        return Ruling(verdict="holds" if passed else "does not hold", measured=measured, numbers=told)

    return judge


def _best(runs: pd.DataFrame, arm: str) -> float:
    return float(runs.loc[runs["arm"] == arm, "best_test_accuracy"].median())


def higher(column: str, arm: str, other: str, words: str) -> Judge:
    """Holds if `column` is higher in `arm` than in `other` (Mann–Whitney, two-sided p < 0.05)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        first, second = (runs.loc[runs["arm"] == name, column].to_numpy(dtype=float) for name in (arm, other))
        p = float(mannwhitneyu(first, second).pvalue)
        spans = [
            f"{name}: median {words} {np.median(x):.1%} ({x.min():.1%} to {x.max():.1%})"
            for name, x in ((arm, first), (other, second))
        ]
        verdict = ("holds" if np.median(first) > np.median(second) else "does not hold") if p < ALPHA else "not decided"
        told = {arm: float(np.median(first)), other: float(np.median(second)), "p": p, "n": len(first) + len(second)}
        return Ruling(verdict=verdict, measured=f"{'; '.join(spans)}; Mann–Whitney p = {p:.2g}.", numbers=told)  # type: ignore[arg-type]

    return judge


def falls_with(column: str, arms: Sequence[str], name: str) -> Judge:
    """Holds if t_grok falls as `column` grows over the arms (Spearman, p < 0.05); runs that never grokked count as last."""

    def judge(runs: pd.DataFrame) -> Ruling:
        own = runs[runs["arm"].isin(arms)]
        t = own["t_grok"].astype(float).fillna(float(own["epoch"].max()) + 1)
        found = spearmanr(own[column].astype(float), t)
        verdict = ("holds" if found.statistic < 0 else "does not hold") if found.pvalue < ALPHA else "not decided"
        told_times = "; ".join(say(runs, arm) for arm in arms)
        measured = (
            f"{told_times}; rank correlation of t_grok with {name} {found.statistic:.2f}, p = {found.pvalue:.2g}."
        )
        told = {**numbers(runs, *arms), "rho": float(found.statistic), "p": float(found.pvalue)}
        return Ruling(verdict=verdict, measured=measured, numbers=told)  # type: ignore[arg-type]

    return judge


def sooner_in_each(pairs: dict[str, tuple[str, str]]) -> Judge:
    """`sooner` for several pairs at once, with Holm's correction; holds, or holds only for the pairs named."""

    def judge(runs: pd.DataFrame) -> Ruling:
        rulings = {name: sooner(*pair)(runs) for name, pair in pairs.items()}
        corrected = holm([ruling.numbers["p"] for ruling in rulings.values()])
        held = [n for (n, r), p in zip(rulings.items(), corrected, strict=True) if p < ALPHA and r.verdict == "holds"]
        arms = list(dict.fromkeys(arm for pair in pairs.values() for arm in pair))
        measured = "; ".join(say(runs, arm) for arm in arms) + "."
        told = {**numbers(runs, *arms), "p_holm": dict(zip(pairs, map(float, corrected), strict=True))}
        if held and len(held) < len(pairs):
            return Ruling(verdict="holds only when", when=", ".join(held), measured=measured, numbers=told)
        return Ruling(verdict="holds" if held else "does not hold", measured=measured, numbers=told)

    return judge


def fastest_family(family: str, families: dict[str, list[str]]) -> Judge:
    """Holds if the best arm of `family` is sooner than the best arm of every other family (Holm's correction)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        def median(arm: str) -> float:
            value = kaplan_meier(times(runs, arm)).median.value
            return float("inf") if value is None else value

        best = {name: min(arms, key=median) for name, arms in families.items()}
        others = {name: (best[family], arm) for name, arm in best.items() if name != family}
        ruling = sooner_in_each(others)(runs)
        seconds = {name: float(runs.loc[runs["arm"] == arm, "seconds_to_grok"].median()) for name, arm in best.items()}
        return replace(ruling, numbers={**ruling.numbers, "best": best, "seconds_to_grok": seconds})

    return judge


def in_most_runs(
    arms: Sequence[str],
    good: Callable[[pd.DataFrame], pd.Series],
    words: Callable[[pd.DataFrame], str],
    share: float = 0.8,
) -> Judge:
    """Holds if `good` is true of at least `share` of the runs to which it applies (missing values do not count), arm by arm."""

    def judge(runs: pd.DataFrame) -> Ruling:
        verdicts, sentences, told = {}, [], {}
        for arm in arms:
            own = runs[runs["arm"] == arm]
            flags = good(own).dropna().astype(bool)
            verdicts[arm] = None if flags.empty else bool(flags.mean() >= share)
            sentences.append(f"{arm}: {int(flags.sum())} of {len(flags)} runs{words(own)}")
            told[arm] = {"true": int(flags.sum()), "n": len(flags)}
        measured = "; ".join(sentences) + "."
        held = [arm for arm, verdict in verdicts.items() if verdict]
        decided = [arm for arm, verdict in verdicts.items() if verdict is not None]
        if not decided:
            return Ruling(verdict="not decided", measured=measured, numbers=told)
        if held and len(held) < len(decided):
            return Ruling(verdict="holds only when", when=" or ".join(held), measured=measured, numbers=told)
        return Ruling(verdict="holds" if held else "does not hold", measured=measured, numbers=told)

    return judge


def broken_line(arms: Sequence[str], x: Callable[[pd.DataFrame], pd.Series], name: str, draws: int = 2000) -> Judge:
    """Is t_grok linear in x above a floor? Fits t = max(floor, a + b·x) to the runs of `arms` that grokked, by least squares
    over every break between arms. Holds if the bootstrap interval of the slope b lies above 0 and R² ≥ 0.8; does not
    hold if R² < 0.8 or the interval holds 0 although at least three arms have grokked; not decided otherwise."""

    def judge(runs: pd.DataFrame) -> Ruling:
        own = runs[runs["arm"].isin(arms) & runs["t_grok"].notna()]
        at, t = x(own).to_numpy(dtype=float), own["t_grok"].to_numpy(dtype=float)
        never = int((runs["arm"].isin(arms) & runs["t_grok"].isna()).sum())
        if len(np.unique(at)) < 4:
            words = f"only {len(np.unique(at))} values of {name} with runs that grokked; {never} runs never did."
            return Ruling(verdict="not decided", measured=words, numbers={"never": never})
        floor, start, slope, r2 = _fit(at, t)
        generator = np.random.default_rng(0)
        slopes = []
        for _ in range(draws):
            chosen = generator.integers(0, len(t), len(t))
            if len(np.unique(at[chosen])) >= 3:
                slopes.append(_fit(at[chosen], t[chosen])[2])
        low, high = np.quantile(slopes, [0.025, 0.975])
        line = f"{start:,.0f} + {slope:,.3g} · {name}"
        best = f"t_grok = {line}, no floor" if floor is None else f"t_grok = max({floor:,.0f}, {line})"
        measured = f"{best}; slope 95 % interval {low:,.3g} to {high:,.3g}, R² = {r2:.2f}, {len(t)} runs grokked, {never} never."
        told = {
            "floor": floor,
            "start": start,
            "slope": slope,
            "interval": [low, high],
            "r2": r2,
            "n": len(t),
            "never": never,
        }
        return Ruling(verdict="holds" if low > 0 and r2 >= 0.8 else "does not hold", measured=measured, numbers=told)

    return judge


def _fit(x: np.ndarray, t: np.ndarray) -> tuple[float | None, float, float, float]:
    """Floor (None without one), start, slope and R² of the best max(floor, start + slope·x); the floor takes the left arms."""
    slope, start = np.polyfit(x, t, 1)
    fits: list[tuple[float, float | None, float, float]] = [(((start + slope * x - t) ** 2).sum(), None, start, slope)]
    for level in np.unique(x)[:-2]:
        floor = t[x <= level].mean()
        slope, start = np.polyfit(x[x > level], t[x > level], 1)
        fits.append((((np.maximum(floor, start + slope * x) - t) ** 2).sum(), floor, start, slope))
    error, best, start, slope = min(fits, key=lambda fit: fit[0])
    spread = ((t - t.mean()) ** 2).sum()
    return (
        None if best is None else float(best),
        float(start),
        float(slope),
        float(1 - error / spread) if spread else 0.0,
    )
