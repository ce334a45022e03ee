"""Rules that turn runs into verdicts. Each returns a judge: a function from the table of runs to a Ruling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, spearmanr

from ..analysis import holm, log_rank, sample
from .base import ClaimVerdict, Ruling
from .clauses import DRAWS, EPOCHS, Clock, NotRunError, median, median_interval, numbers, say, say_share, times
from .regimes import REGIMES, in_regime

__all__ = [
    "Judge",
    "Pair",
    "broken_line",
    "either",
    "falls_with",
    "fastest_family",
    "groks",
    "higher",
    "in_most_runs",
    "never_groks",
    "no_later_in_each",
    "regime_pairs",
    "sooner",
    "sooner_in_each",
    "verdict_on",
]

Judge = Callable[[pd.DataFrame], Ruling]
Pair = tuple[str, str]
"""The arm that should be sooner, and the one it is compared with."""

ALPHA = 0.05
"""Level of every test."""

SHARE = "share of runs"


def verdict_on(outcomes: Mapping[str, bool | None]) -> tuple[ClaimVerdict, str]:
    """One verdict from several cases (None is not decided), and the cases in which the claim holds if not in all."""
    held = [case for case, outcome in outcomes.items() if outcome]
    if held:
        return ("holds", "") if len(held) == len(outcomes) else ("holds only when", either(held))
    return ("does not hold" if False in outcomes.values() else "not decided"), ""


def either(cases: Sequence[str]) -> str:
    """`q = 16 (oracle or noise) or q = 4`: cases of one regime are grouped."""
    groups: dict[str, list[str]] = {}
    for case in cases:
        regime = next((regime for regime in REGIMES if case.startswith(f"{regime}, ")), None)
        groups.setdefault(regime or case, []).extend([case.removeprefix(f"{regime}, ")] if regime else [])
    return " or ".join(f"{first} ({' or '.join(rest)})" if rest else first for first, rest in groups.items())


def in_regimes(judge: Judge, regimes: Sequence[str] = tuple(REGIMES)) -> Judge:
    """Apply `judge` to each regime separately, with the regime removed from the arms' names; skips regimes that were not run."""

    def combined(runs: pd.DataFrame) -> Ruling:
        rulings = {regime: judge(own) for regime in regimes if len(own := in_regime(runs, regime))}
        outcomes: dict[str, bool | None] = {}
        for regime, ruling in rulings.items():
            name = f"{regime} ({ruling.when})" if ruling.when else regime
            outcomes[name] = None if ruling.verdict == "not decided" else ruling.verdict != "does not hold"
        verdict, when = verdict_on(outcomes)
        if verdict == "holds" and any(ruling.when for ruling in rulings.values()):
            same = {ruling.when for ruling in rulings.values()}
            verdict, when = "holds only when", same.pop() if len(same) == 1 else " or ".join(outcomes)
        lines = [f"{regime}: {ruling.measured.replace(chr(10), ' · ')}" for regime, ruling in rulings.items()]
        stats = {regime: {"verdict": r.verdict, **r.numbers} for regime, r in rulings.items()}
        test = next(iter(rulings.values())).test
        return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=test, numbers=stats)

    return combined


def regime_pairs(*pairs: Pair) -> dict[str, list[Pair]]:
    """The same pairs of arms in every regime, as cases for `sooner_in_each`."""
    return {regime: [(f"{regime}, {arm}", f"{regime}, {other}") for arm, other in pairs] for regime in REGIMES}


# ── which of two arms groks first ─────────────────────────────────────────────────────────────────────────────────────


class Compared(NamedTuple):
    """Two arms compared."""

    arm: float
    """Median of the one that should be sooner."""
    other: float
    p: float
    """Of the log-rank test, after Holm's correction over all comparisons of the claim."""

    @property
    def is_sooner(self) -> bool | None:
        return self.arm < self.other if self.p < ALPHA and self.arm != self.other else None


def sooner(arm: str, other: str, clock: Clock = EPOCHS) -> Judge:
    """Holds if the log-rank test tells the arms apart and `arm` has the earlier median."""
    return sooner_in_each({"": (arm, other)}, clock)


def sooner_in_each(
    cases: Mapping[str, Pair | Sequence[Pair]], clock: Clock = EPOCHS, also: Clock | None = None
) -> Judge:
    """`sooner` in several cases; a case with several pairs needs all of them. Skips cases that were not run."""

    def decide(compared: Compared) -> bool | None:
        return compared.is_sooner

    return _in_each(cases, decide, clock, also)


def no_later_in_each(cases: Mapping[str, Pair | Sequence[Pair]], slack: float = 1.25, clock: Clock = EPOCHS) -> Judge:
    """In each case: does not hold if the log-rank test finds `arm` later; else holds if its median is at most `slack` times
    the other's."""

    def decide(compared: Compared) -> bool | None:
        if compared.is_sooner is False:
            return False
        return True if np.isfinite(compared.arm) and compared.arm <= slack * compared.other else None

    return _in_each(cases, decide, clock)


def _in_each(
    cases: Mapping[str, Pair | Sequence[Pair]],
    decide: Callable[[Compared], bool | None],
    clock: Clock,
    also: Clock | None = None,
) -> Judge:
    def judge(runs: pd.DataFrame) -> Ruling:
        there = set(runs["arm"])
        chosen = {
            case: _pairs(pairs) for case, pairs in cases.items() if {a for p in _pairs(pairs) for a in p} <= there
        }
        if not chosen:
            raise NotRunError(", ".join(cases))
        raw = [log_rank(*(times(runs, arm, clock) for arm in pair)).p for pairs in chosen.values() for pair in pairs]
        corrected = iter(holm(raw))
        outcomes: dict[str, bool | None] = {}
        p_values: dict[str, list[float]] = {}
        heads: dict[str, list[tuple[Pair, float]]] = {}
        for case, pairs in chosen.items():
            found = [
                Compared(median(times(runs, arm, clock)), median(times(runs, other, clock)), float(next(corrected)))
                for arm, other in pairs
            ]
            results = [decide(compared) for compared in found]
            outcomes[case] = False if False in results else None if None in results else True
            p_values[case] = [compared.p for compared in found]
            head = _shared([arm for pair in pairs for arm in pair])
            heads.setdefault(head, []).extend(zip(pairs, p_values[case], strict=True))
        lines = [line for head, pairs in heads.items() for line in _lines(runs, head, pairs, clock, also)]
        verdict, when = verdict_on(outcomes)
        arms = dict.fromkeys(arm for pairs in chosen.values() for pair in pairs for arm in pair)
        stats = {**numbers(runs, *arms, clock=clock), "p": p_values}
        test = f"log-rank, Holm's correction over {len(raw)} comparisons" if len(raw) > 1 else "log-rank"
        return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=test, numbers=stats)

    return judge


def _pairs(pairs: Pair | Sequence[Pair]) -> list[Pair]:
    return [pairs] if isinstance(pairs[0], str) else list(pairs)  # type: ignore[list-item,arg-type]


def _shared(arms: Sequence[str]) -> str:
    """The first words that the names of all arms have in common: `q = 16` of `q = 16, oracle` and `q = 16, no prior`."""
    levels = zip(*(arm.split(", ")[:-1] for arm in arms), strict=False)
    return ", ".join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def _lines(
    runs: pd.DataFrame, head: str, pairs: Sequence[tuple[Pair, float]], clock: Clock, also: Clock | None
) -> list[str]:
    """`q = 16: oracle: 1,875 (1,625–2,525; 5/5) · no prior: …, p = 0.01`: one line where all pairs share an arm, else one each."""

    def describe(arm: str, p: float | None = None) -> str:
        text = say(runs, arm, clock, arm.removeprefix(f"{head}, ")) + (f", {say(runs, arm, also, '')}" if also else "")
        return text if p is None else f"{text}, p = {p:.2g}"

    start = f"{head}: " if head else ""
    for first, second in ((0, 1), (1, 0)):
        if len({pair[first] for pair, _ in pairs}) == 1:
            rest = [describe(pair[second], p) for pair, p in pairs]
            return [start + " · ".join([describe(pairs[0][0][first]), *rest])]
    return [start + f"{describe(arm)} · {describe(other, p)}" for (arm, other), p in pairs]


def fastest_family(
    family: str, families: Mapping[str, Sequence[str]], clock: Clock = EPOCHS, also: Clock | None = None
) -> Judge:
    """Holds if the best arm of `family` is sooner than the best arm of every other family (Holm's correction)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        there = {
            name: own for name, arms in families.items() if (own := [arm for arm in arms if arm in set(runs["arm"])])
        }
        best = {name: min(arms, key=lambda arm: median(times(runs, arm, clock))) for name, arms in there.items()}
        others = {f"compared with {name}": (best[family], arm) for name, arm in best.items() if name != family}
        ruling = sooner_in_each(others, clock, also)(runs)
        return replace(ruling, when=ruling.when.replace(" or compared with ", " or "))

    return judge


# ── how many runs do something ────────────────────────────────────────────────────────────────────────────────────────


def groks(arms: Sequence[str], share: float) -> Judge:
    """Holds if at least `share` of the runs of every arm grok."""
    return _shares(arms, lambda grokked: grokked >= share)


def never_groks(arms: Sequence[str]) -> Judge:
    """Holds if no run of any of the arms groks."""
    return _shares(arms, lambda grokked: grokked == 0)


def _shares(arms: Sequence[str], good: Callable[[float], bool]) -> Judge:
    def judge(runs: pd.DataFrame) -> Ruling:
        there = [arm for arm in arms if (runs["arm"] == arm).any()]
        shares = {arm: float(times(runs, arm).grokked.mean()) for arm in there}
        verdict, when = verdict_on({arm: good(shares[arm]) for arm in there})
        lines = [f"{say(runs, arm)}, best test accuracy {_best(runs, arm):.0%}" for arm in there]
        stats = {**numbers(runs, *there), "shares": shares}
        return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=SHARE, numbers=stats)

    return judge


def _best(runs: pd.DataFrame, arm: str) -> float:
    return float(runs.loc[runs["arm"] == arm, "best_test_accuracy"].median())


def in_most_runs(
    arms: Sequence[str],
    good: Callable[[pd.DataFrame], pd.Series],
    describe: Callable[[pd.DataFrame], str],
    share: float = 0.8,
) -> Judge:
    """Holds if `good` is true of at least `share` of the runs to which it applies (missing values do not count), arm by arm."""

    def judge(runs: pd.DataFrame) -> Ruling:
        outcomes: dict[str, bool | None] = {}
        lines, stats = [], {}
        for arm in arms:
            own = runs[runs["arm"] == arm]
            if own.empty:
                continue
            flags = good(own).dropna().astype(bool)
            if len(flags):
                outcomes[arm] = bool(flags.mean() >= share)
            lines.append(
                f"{arm}: {say_share(int(flags.sum()), len(flags))}{describe(own.loc[flags.index]) if len(flags) else ''}"
            )
            stats[arm] = {"true": int(flags.sum()), "n": len(flags)}
        verdict, when = verdict_on(outcomes)
        return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=SHARE, numbers=stats)

    return judge


# ── how one number depends on another ─────────────────────────────────────────────────────────────────────────────────


def higher(column: str, arm: str, other: str, label: str) -> Judge:
    """Holds if `column` is higher in `arm` than in `other` (Mann–Whitney, two-sided p < 0.05)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        if not {arm, other} <= set(runs["arm"]):
            raise NotRunError(arm)
        values = [runs.loc[runs["arm"] == name, column].to_numpy(dtype=float) for name in (arm, other)]
        p = float(mannwhitneyu(*values).pvalue)
        verdict, _ = verdict_on({"": bool(np.median(values[0]) > np.median(values[1])) if p < ALPHA else None})
        lines, stats = [], {}
        for name, own in zip((arm, other), values, strict=True):
            low, high = median_interval(sample(own, own))
            stats[name] = {"median": float(np.median(own)), "interval": [low, high], "n": len(own)}
            lines.append(f"{name}: median {label} {np.median(own):.1%} ({low:.1%}–{high:.1%}; {len(own)} runs)")
        measured = " · ".join([*lines, f"p = {p:.2g}"])
        return Ruling(verdict=verdict, measured=measured, test="Mann–Whitney", numbers={**stats, "p": p})

    return judge


def falls_with(column: str, arms: Sequence[str], name: str) -> Judge:
    """Holds if t_grok falls as `column` grows over the arms (Spearman, p < 0.05); runs that never grokked count as last."""

    def judge(runs: pd.DataFrame) -> Ruling:
        own = runs[runs["arm"].isin(arms)]
        there = [arm for arm in arms if (own["arm"] == arm).any()]
        t = own["t_grok"].astype(float).fillna(float(own["epoch"].max()) + 1)
        found = spearmanr(own[column].astype(float), t)
        verdict, _ = verdict_on({"": bool(found.statistic < 0) if found.pvalue < ALPHA else None})
        rho = f"rank correlation of t_grok with {name} {found.statistic:.2f}, p = {found.pvalue:.2g}"
        measured = "\n".join([*(say(runs, arm) for arm in there), rho])
        stats = {**numbers(runs, *there), "rho": float(found.statistic), "p": float(found.pvalue)}
        return Ruling(verdict=verdict, measured=measured, test="Spearman's rank correlation", numbers=stats)

    return judge


def broken_line(arms: Sequence[str], x: Callable[[pd.DataFrame], pd.Series], name: str, draws: int = DRAWS) -> Judge:
    """Is t_grok linear in x above a floor? Fits t = max(floor, a + b·x) by least squares over every break between arms. Arms with
    a run that never grokked are left out: what is known of them is too early. Holds if the bootstrap interval of the slope b
    lies above 0 and R² ≥ 0.8, does not hold otherwise; not decided with fewer than four values of x."""

    def judge(runs: pd.DataFrame) -> Ruling:
        asked = runs[runs["arm"].isin(arms)]
        cut = asked.loc[asked["t_grok"].isna(), "arm"].unique()
        own, never = asked[~asked["arm"].isin(cut)], int(asked["t_grok"].isna().sum())
        at, t = x(own).to_numpy(dtype=float), own["t_grok"].to_numpy(dtype=float)
        test = "least squares, bootstrap of the slope"
        if len(np.unique(at)) < 4:
            text = f"only {len(np.unique(at))} values of {name} with all runs grokked; {never} runs never did"
            return Ruling(verdict="not decided", measured=text, test=test, numbers={"never": never})
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
        measured = f"{best}; slope 95 % interval {low:,.3g} to {high:,.3g}, R² = {r2:.2f}, n = {len(t)}"
        measured += f"; left out, with {never} runs that never grokked: {', '.join(cut)}" if never else ""
        stats = {
            "floor": floor,
            "start": start,
            "slope": slope,
            "interval": [low, high],
            "r2": r2,
            "n": len(t),
            "never": never,
        }
        verdict: ClaimVerdict = "holds" if low > 0 and r2 >= 0.8 else "does not hold"
        return Ruling(verdict=verdict, measured=measured, test=test, numbers=stats)

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
