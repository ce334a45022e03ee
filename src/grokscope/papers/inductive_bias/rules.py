"""Rules of the inductive-bias experiments: whether several arms differ, and what is correlated across runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from ...analysis import holm, log_rank
from ...analysis.correlation import Correlation, rank_correlation, ranks
from ...experiments.base import Ruling
from ...experiments.clauses import DRAWS, finite, median, numbers, say, times
from ...experiments.rules import ALPHA, Judge, Pair, verdict_on

if TYPE_CHECKING:
    from ...store.results import Results

SLACK = 1.5
"""Medians within this factor of each other count as alike."""
SPEARMAN = "Spearman's rank correlation, bootstrap over runs"


def differ_in_each(cases: Mapping[str, Sequence[str]]) -> Judge:
    """In each case, of several arms: holds if the log-rank test over all of them tells them apart (Holm's correction over cases);
    does not hold if it does not and all medians are within SLACK of each other; else not decided."""
    return _in_each(cases, differ=True)


def alike_in_each(cases: Mapping[str, Sequence[str]]) -> Judge:
    """The opposite: does not hold if the test tells the arms apart, holds if it does not and all medians are within SLACK."""
    return _in_each(cases, differ=False)


def _in_each(cases: Mapping[str, Sequence[str]], differ: bool) -> Judge:
    def judge(runs: pd.DataFrame) -> Ruling:
        chosen = {case: own for case, arms in cases.items() if len(own := _there(runs, arms)) > 1}
        p_values = holm([log_rank(*(times(runs, arm) for arm in arms)).p for arms in chosen.values()])
        outcomes: dict[str, bool | None] = {}
        lines = []
        for (case, arms), p in zip(chosen.items(), p_values, strict=True):
            outcomes[case] = differ if p < ALPHA else not differ if _within(runs, arms) else None
            texts = [say(runs, arm, name=arm.removeprefix(f"{case}, ")) for arm in arms]
            lines.append((f"{case}: " if case else "") + " · ".join([*texts, f"p = {p:.2g}"]))
        verdict, when = verdict_on(outcomes)
        stats = numbers(runs, *(arm for arms in chosen.values() for arm in arms))
        stats["p"] = dict(zip(chosen, map(finite, p_values), strict=True))
        test = "log-rank over all arms of a case" if max(map(len, chosen.values())) > 2 else "log-rank"
        test += f", Holm's correction over {len(chosen)} cases" if len(chosen) > 1 else ""
        return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test=test, numbers=stats)

    return judge


def best_alike(families: Mapping[str, Sequence[str]]) -> Judge:
    """The best arm of each family (earliest median) compared with the others' best: does not hold if the log-rank test over them
    tells them apart, holds if it does not and their medians are within SLACK, else not decided."""

    def judge(runs: pd.DataFrame) -> Ruling:
        there = {name: own for name, arms in families.items() if (own := _there(runs, arms))}
        best = {name: min(arms, key=lambda arm: median(times(runs, arm))) for name, arms in there.items()}
        p = log_rank(*(times(runs, arm) for arm in best.values())).p
        outcome = False if p < ALPHA else True if _within(runs, best.values()) else None
        texts = [say(runs, arm, name=f"{name} ({arm.removesuffix(f', {name}')})") for name, arm in best.items()]
        stats = {**numbers(runs, *best.values()), "best": best, "p": finite(p)}
        measured = "\n".join([*texts, f"p = {p:.2g}"])
        return Ruling(
            verdict=verdict_on({"": outcome})[0], measured=measured, test="log-rank over the best arms", numbers=stats
        )

    return judge


def one_direction(effects: Mapping[str, Mapping[str, Pair]]) -> Judge:
    """Each effect is a pair of arms in several cases. Does not hold if the first arm of an effect is sooner in one case and later
    in another (log-rank, Holm's correction over all comparisons); holds if not and some effect shows in two cases or more;
    else not decided."""

    def judge(runs: pd.DataFrame) -> Ruling:
        there = set(runs["arm"])
        asked = [(e, c, pair) for e, own in effects.items() for c, pair in own.items() if set(pair) <= there]
        p_values = holm([log_rank(*(times(runs, arm) for arm in pair)).p for *_, pair in asked])
        found: dict[str, dict[str, str]] = {effect: {} for effect in effects}
        for (effect, case, (arm, other)), p in zip(asked, p_values, strict=True):
            one, two = median(times(runs, arm)), median(times(runs, other))
            found[effect][case] = "like" if p >= ALPHA or one == two else "sooner" if one < two else "later"
        seen = [{word for word in own.values() if word != "like"} for own in found.values()]
        twice = any(sum(word != "like" for word in own.values()) > 1 for own in found.values())
        outcome = False if any(len(directions) > 1 for directions in seen) else True if twice else None
        lines = [f"{e}: {', '.join(f'{word} at {case}' for case, word in own.items())}" for e, own in found.items()]
        test = f"log-rank, Holm's correction over {len(asked)} comparisons"
        stats = {"found": found, "p": [finite(p) for p in p_values]}
        return Ruling(verdict=verdict_on({"": outcome})[0], measured="\n".join(lines), test=test, numbers=stats)

    return judge


def lower(column: str, arm: str, other: str, label: str) -> Judge:
    """Holds if `column` is lower in `arm` than in `other` (Mann–Whitney, two-sided p < 0.05)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        values = [runs.loc[runs["arm"] == name, column].dropna().to_numpy(dtype=float) for name in (arm, other)]
        if not all(len(x) for x in values):
            return Ruling(verdict="not decided", measured=f"no run of an arm has a {label}", test="Mann–Whitney")
        p, middles = float(mannwhitneyu(*values).pvalue), [float(np.median(x)) for x in values]
        outcome = middles[0] < middles[1] if p < ALPHA else None
        spans = [
            f"{name}: median {label} {middle:.3g} ({x.min():.3g}–{x.max():.3g}; {len(x)} runs)"
            for name, x, middle in zip((arm, other), values, middles, strict=True)
        ]
        stats = {arm: middles[0], other: middles[1], "p": p}
        measured = " · ".join([*spans, f"p = {p:.2g}"])
        return Ruling(verdict=verdict_on({"": outcome})[0], measured=measured, test="Mann–Whitney", numbers=stats)

    return judge


def explains_more(cells: Sequence[str], factor: str, label: tuple[str, str]) -> Judge:
    """Holds if the cells of some settings explain more of the ranks of t_grok (runs that never grokked last) than `factor` does:
    shares of variance between groups, 95 % bootstrap interval of their difference over runs within arms above 0; does not
    hold if it lies below 0."""

    def judge(runs: pd.DataFrame) -> Ruling:
        place = np.unique(late(runs), return_inverse=True)[1]
        groups = [_groups(runs, cells), _groups(runs, [factor])]
        generator = np.random.default_rng(0)
        drawn = np.empty((DRAWS, len(runs)))
        for arm in runs["arm"].unique():
            own = np.flatnonzero(runs["arm"] == arm)
            drawn[:, own] = generator.multinomial(len(own), np.full(len(own), 1 / len(own)), DRAWS)
        differences = [_between(place, groups[0], n) - _between(place, groups[1], n) for n in drawn]
        low, high = np.quantile(differences, [0.025, 0.975])
        shares = [_between(place, group, np.ones(len(runs))) for group in groups]
        outcome = True if low > 0 else False if high < 0 else None
        never = int(runs["t_grok"].isna().sum())
        measured = f"{label[0]} explain {100 * shares[0]:.0f} % of the variance of the ranks, {label[1]} {100 * shares[1]:.0f} %; "
        measured += f"difference {100 * low:.0f} to {100 * high:.0f} %; {len(runs)} runs, {never} never grokked"
        stats = {"shares": shares, "interval": [float(low), float(high)], "n": len(runs), "never": never}
        test = "variance of ranks between groups, bootstrap over runs"
        return Ruling(verdict=verdict_on({"": outcome})[0], measured=measured, test=test, numbers=stats)

    return judge


def later_with(value: Callable[[Results], pd.Series], label: str) -> Callable[[Results], Ruling]:
    """Holds if t_grok rises with a number of each run (given by run id): the 95 % interval of Spearman's ρ lies above 0; does not
    hold if it lies below 0. Runs that never grokked count as last, runs without the number not at all."""

    def judge(results: Results) -> Ruling:
        runs = results.runs
        number = runs["run"].map(value(results)).astype(float)
        found = rank_correlation(number, late(runs), list(runs["run"]))
        by_arm = number.groupby(runs["arm"], sort=False)
        lines = [f"{arm}: median {label} {own.median():.3g}" for arm, own in by_arm if own.notna().any()]
        return correlated(found, 1, [*lines, f"with t_grok: {found}"])

    return judge


def correlated(found: Correlation, sign: int, lines: Iterable[str]) -> Ruling:
    """Holds if the interval lies on the side of `sign`, does not hold if on the other, else not decided."""
    outcome = found.sign == sign if found.sign else None
    stats = {name: finite(value) for name, value in found._asdict().items()}
    return Ruling(verdict=verdict_on({"": outcome})[0], measured="\n".join(lines), test=SPEARMAN, numbers=stats)


def late(runs: pd.DataFrame) -> pd.Series:
    """t_grok, with the runs that never grokked after all others."""
    return runs["t_grok"].astype(float).fillna(float(runs["epoch"].max()) + 1)


def _groups(runs: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """A number for each combination of settings; a setting that is the same in all runs has no column."""
    there = [name for name in columns if name in runs]
    return runs.groupby(there).ngroup().to_numpy() if there else np.zeros(len(runs), dtype=int)


def _between(place: np.ndarray, group: np.ndarray, times: np.ndarray) -> float:
    """Share of the variance of ranks that lies between groups; see `ranks` for place and times."""
    rank = ranks(place, times)
    total = times @ rank**2
    size = np.bincount(group, times)
    means = np.bincount(group, times * rank) / np.maximum(size, 1)
    return float((size * means**2).sum() / total) if total else 0.0


def _there(runs: pd.DataFrame, arms: Iterable[str]) -> list[str]:
    known = set(runs["arm"])
    return [arm for arm in arms if arm in known]


def _within(runs: pd.DataFrame, arms: Iterable[str]) -> bool:
    medians = [median(times(runs, arm)) for arm in arms]
    return bool(np.isfinite(medians).all() and max(medians) <= SLACK * min(medians))
