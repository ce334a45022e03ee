"""Rules of the grokking-tickets experiments: the ratio τ_grok, what holds at an epoch, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, spearmanr

from ...experiments.base import ClaimVerdict, Ruling
from ...experiments.clauses import Clock, say_share
from ...experiments.rules import ALPHA, Judge, sooner, sooner_in_each, verdict_on
from ...thresholds import reaches
from .common import GENERALISED

if TYPE_CHECKING:
    from ...store.results import Results

JudgeAll = Callable[["Results"], Ruling]


def ratios(runs: pd.DataFrame, arm: str) -> pd.Series:
    """τ_grok of an arm's runs; infinite for those that never generalised."""
    return runs.loc[runs["arm"] == arm, "tau_grok"].astype(float).fillna(np.inf)


def _ratio_text(runs: pd.DataFrame, arm: str) -> str:
    own = ratios(runs, arm)
    reached = np.isfinite(own)
    typical = f"{own.median():.1f}" if np.isfinite(own.median()) else "not reached"
    spread = f"{own[reached].min():.1f}–{own[reached].max():.1f}; " if reached.any() else ""
    return f"{arm}: τ {typical} ({spread}{int(reached.sum())}/{len(own)})"


def lower_ratio(arm: str, other: str) -> Judge:
    """Holds if τ_grok = t_gen/t_mem is lower in `arm` (Mann–Whitney p < 0.05; runs that never generalised count as largest)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        one, two = (ratios(runs, name).clip(upper=1e9) for name in (arm, other))
        p = float(mannwhitneyu(one, two).pvalue)
        verdict, _ = verdict_on({"": bool(one.median() < two.median()) if p < ALPHA else None})
        measured = f"{_ratio_text(runs, arm)} · {_ratio_text(runs, other)} · p = {p:.2g}"
        return Ruling(verdict=verdict, measured=measured, test="Mann–Whitney", numbers={"p": p})

    return judge


def lowest_ratio_at(best: str, arms: Sequence[str]) -> Judge:
    """Holds if the median τ_grok over the arms is lowest in `best`."""

    def judge(runs: pd.DataFrame) -> Ruling:
        there = [arm for arm in arms if (runs["arm"] == arm).any()]
        medians = {arm: float(ratios(runs, arm).median()) for arm in there}
        lowest = min(there, key=lambda arm: medians[arm])
        verdict: ClaimVerdict = "holds" if lowest == best else "does not hold"
        measured = "\n".join([*(_ratio_text(runs, arm) for arm in there), f"lowest at {lowest}"])
        stats = {arm: value if np.isfinite(value) else None for arm, value in medians.items()}
        return Ruling(verdict=verdict, measured=measured, test="medians compared", numbers={"lowest": lowest, **stats})

    return judge


def grows_with(column: str, by: str, arms: Sequence[str], label: str) -> Judge:
    """Holds if `column` grows with the setting `by` over the arms (Spearman, p < 0.05)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        own = runs[runs["arm"].isin(arms) & runs[column].notna()]
        found = spearmanr(own[by].astype(float), own[column].astype(float))
        verdict, _ = verdict_on({"": bool(found.statistic > 0) if found.pvalue < ALPHA else None})
        medians = own.groupby(by)[column].median()
        line = ", ".join(f"{value:,.0f} at {at:g}" for at, value in medians.items())
        measured = f"{label}: {line} (medians, {len(own)} runs)\nrank correlation {found.statistic:.2f}, p = {found.pvalue:.2g}"
        stats = {"rho": float(found.statistic), "p": float(found.pvalue), "n": len(own)}
        return Ruling(verdict=verdict, measured=measured, test="Spearman's rank correlation", numbers=stats)

    return judge


def early_tickets_fail(prefix: str) -> Judge:
    """Tickets taken before the dense run generalised: holds if at most 20 % of them reach 95 % test accuracy."""

    def judge(runs: pd.DataFrame) -> Ruling:
        early = taken(runs, prefix, after=False)
        reached = int(early["t_gen_95"].notna().sum())
        measured = f"taken before the dense run generalised: {say_share(reached, len(early))} reach 95 %"
        measured += f", best test accuracy {early['best_test_accuracy'].median():.0%}" if len(early) else ""
        verdict, _ = verdict_on({"": reached / len(early) <= 0.2 if len(early) else None})
        return Ruling(
            verdict=verdict, measured=measured, test="share of runs", numbers={"reached": reached, "n": len(early)}
        )

    return judge


def late_tickets_help(prefix: str) -> Judge:
    """Tickets taken after the dense run generalised generalise sooner than it did (log-rank p < 0.05)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        late = taken(runs, prefix, after=True).assign(arm="taken after")
        return sooner("taken after", "dense", GENERALISED)(pd.concat([late, runs[runs["arm"] == "dense"]]))

    return judge


def taken(runs: pd.DataFrame, prefix: str, *, after: bool) -> pd.DataFrame:
    """The tickets taken at a numbered epoch before or after the dense run of their seed generalised."""
    dense = runs[runs["arm"] == "dense"].set_index("seed")["t_gen_95"]
    tickets = runs[runs["arm"].str.startswith(prefix)]
    when = tickets["ticket.epoch"].astype(float)
    generalised = tickets["seed"].map(dense).astype(float)
    is_after = when >= generalised.fillna(np.inf)
    return tickets[is_after if after else ~is_after]


def none_sooner(arms: Sequence[str], other: str) -> Judge:
    """Holds if no arm generalises sooner than `other` (log-rank p < 0.05 and an earlier median)."""

    def judge(runs: pd.DataFrame) -> Ruling:
        rulings = {arm: sooner(arm, other, GENERALISED)(runs) for arm in arms if (runs["arm"] == arm).any()}
        faster = [arm for arm, ruling in rulings.items() if ruling.verdict == "holds"]
        verdict, when = verdict_on({arm: arm not in faster for arm in rulings})
        measured = "\n".join(ruling.measured for ruling in rulings.values())
        return Ruling(verdict=verdict, when=when, measured=measured, test="log-rank", numbers={"sooner": faster})

    return judge


def last_values(results: Results, column: str) -> pd.Series:
    """A metric at the end of every run, by arm."""
    curves = results.curves.sort_values("epoch").groupby("run")[column].last()
    return results.runs.set_index("arm")["run"].map(curves)


def value_at(results: Results, column: str, epoch: int) -> pd.DataFrame:
    """A metric of every run at an epoch (the last one before it that was kept), with the run's arm and seed."""
    upto = results.curves[results.curves["epoch"] <= epoch].sort_values("epoch").groupby("run")[column].last()
    return results.runs[["run", "arm", "seed"]].assign(value=results.runs["run"].map(upto))


def within(arms: Sequence[str], column: str, factor: float, label: str) -> JudgeAll:
    """Holds if the arms' medians of a metric at the end lie within a factor of one another."""

    def judge(results: Results) -> Ruling:
        ends = last_values(results, column)
        medians = {arm: float(ends[ends.index == arm].median()) for arm in arms if arm in ends.index}
        ratio = max(medians.values()) / min(medians.values())
        line = " · ".join(f"{arm}: {value:,.1f}" for arm, value in medians.items())
        verdict: ClaimVerdict = "holds" if ratio <= factor else "does not hold"
        measured = f"median {label} at the end: {line}; largest over smallest {ratio:.2f}"
        return Ruling(verdict=verdict, measured=measured, test="medians compared", numbers={**medians, "ratio": ratio})

    return judge


def lower_at_end(arm: str, other: str, column: str, label: str) -> JudgeAll:
    """Holds if a metric ends lower in `arm` than in `other` (Mann–Whitney p < 0.05)."""

    def judge(results: Results) -> Ruling:
        ends = last_values(results, column)
        one, two = (ends[ends.index == name].to_numpy(dtype=float) for name in (arm, other))
        return _lower(one, two, (arm, other), label)

    return judge


def lower_at(arm: str, other: str, column: str, epochs: Mapping[str, int], label: str) -> JudgeAll:
    """Holds if a metric is lower in `arm` than in `other` at an epoch given for each scale (Mann–Whitney p < 0.05)."""

    def judge(results: Results) -> Ruling:
        epoch = epochs[results.about["scale"]]
        found = value_at(results, column, epoch)
        values = [found.loc[found["arm"] == name, "value"].to_numpy(dtype=float) for name in (arm, other)]
        return _lower(values[0], values[1], (arm, other), f"{label} at epoch {epoch:,}")

    return judge


def _lower(one: np.ndarray, two: np.ndarray, names: tuple[str, str], label: str) -> Ruling:
    p = float(mannwhitneyu(one, two).pvalue)
    verdict, _ = verdict_on({"": bool(np.median(one) < np.median(two)) if p < ALPHA else None})
    spans = [
        f"{name}: {np.median(x):.3g} ({x.min():.3g}–{x.max():.3g}; {len(x)} runs)"
        for name, x in zip(names, (one, two), strict=True)
    ]
    stats = {names[0]: float(np.median(one)), names[1]: float(np.median(two)), "p": p}
    return Ruling(
        verdict=verdict,
        measured=f"median {label}: {' · '.join(spans)} · p = {p:.2g}",
        test="Mann–Whitney",
        numbers=stats,
    )


def structure_moves_with_accuracy(arms: Sequence[str], top: float = 0.25) -> JudgeAll:
    """Of the intervals between checkpoints after memorisation, the one with the largest gain in test accuracy is among the
    `top` share with the largest Jaccard distance: holds for an arm if so in at least 80 % of its runs that gain at all."""

    def judge(results: Results) -> Ruling:
        table = results.probes["jaccard"]
        table = table[table["layer"] == "all"]
        memorised = results.runs.set_index("run")["t_mem_95"].astype(float)
        outcomes: dict[str, bool | None] = {}
        lines, stats = [], {}
        for arm in (name for name in arms if (table["arm"] == name).any()):
            flags, correlations = [], []
            for run, own in table[table["arm"] == arm].groupby("run"):
                after = own[own["previous"] >= memorised[run]]
                if len(after) < 4 or after["accuracy_change"].max() < 0.05:
                    continue
                rank = after["distance"].rank(ascending=False)[after["accuracy_change"].idxmax()]
                flags.append(rank <= max(1, round(top * len(after))))
                correlations.append(spearmanr(after["distance"], after["accuracy_change"]).statistic)
            outcomes[arm] = float(np.mean(flags)) >= 0.8 if flags else None
            typical = f", median rank correlation {np.median(correlations):.2f}" if correlations else ""
            lines.append(f"{arm}: {say_share(int(sum(flags)), len(flags))}{typical}")
            stats[arm] = {"true": int(sum(flags)), "n": len(flags), "rho": [float(c) for c in correlations]}
        verdict, when = verdict_on(outcomes)
        return Ruling(verdict=verdict, when=when, measured="\n".join(lines), test="share of runs", numbers=stats)

    return judge


def sooner_to(level: float, cases: Mapping[str, tuple[str, str]]) -> JudgeAll:
    """As `sooner_in_each`, on the time to a test accuracy of `level`: for tasks whose best test accuracy lies below 95 %."""

    def judge(results: Results) -> Ruling:
        reached = results.curves[reaches(results.curves["test_accuracy"], level)].groupby("run")["epoch"].min()
        runs = results.runs.assign(t_level=results.runs["run"].map(reached))
        return sooner_in_each(cases, Clock("t_level", "epoch"))(runs)

    return judge
