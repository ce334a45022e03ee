"""Diverged runs in an experiment: they count as not grokked, are named, and stop neither the other runs nor the other claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ..config.references import origins

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..store import RunInfo
    from ..store.results import Results

NOT_TRAINED = "not_trained"
"""Entry of `about.json`: arms without any run, since those that they start from diverged."""

COUNTED = "diverged, counted as not grokked"


def trainable(configs: Iterable[RunConfig], trained: Iterable[RunInfo]) -> list[RunConfig]:
    """Those whose teacher and ticket come from runs that were trained and did not diverge."""
    usable = {run.id for run in trained if run.status != "diverged"}
    return [config for config in configs if origins(config) <= usable]


def was_not_trained(arms: Sequence[str]) -> str:
    """A line about runs of these arms."""
    names = ", ".join(dict.fromkeys(arms))
    return f"not trained: {len(arms)} run{'s' * (len(arms) > 1)} of {names}, since those that they start from diverged"


def named_runs(runs: pd.DataFrame) -> str:
    """`plain (seeds 0, 4–7), oracle (all 20 seeds)`: the diverged runs of a table; empty if there are none."""
    return ", ".join(f"{arm} ({seeds})" for arm, seeds in seeds_by_arm(runs).items())


def seeds_by_arm(runs: pd.DataFrame) -> dict[str, str]:
    """The seeds of diverged runs in words, by arm."""
    if "status" not in runs:
        return {}
    every = runs.groupby("arm")["seed"].nunique()
    seeds: Mapping[str, list[int]] = runs[runs["status"] == "diverged"].groupby("arm", sort=False)["seed"].agg(list)
    return {arm: _named_seeds(sorted(own), every[arm]) for arm, own in seeds.items()}


def _named_seeds(seeds: Sequence[int], every: int) -> str:
    if len(seeds) == every > 2:
        return f"all {every} seeds"
    rows: list[list[int]] = []
    for seed in seeds:
        if rows and seed == rows[-1][-1] + 1:
            rows[-1].append(seed)
        else:
            rows.append([seed])
    words = [f"{row[0]}–{row[-1]}" if len(row) > 2 else ", ".join(map(str, row)) for row in rows]
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(words)}"


def note(results: Results) -> str:
    """One line that names diverged runs and arms that were not trained; empty if there are none."""
    runs, arms = named_runs(results.runs), results.about.get(NOT_TRAINED, [])
    parts = [f"{COUNTED}: {runs}"] if runs else []
    parts += [f"not trained, since what they start from diverged: {', '.join(arms)}"] if arms else []
    return "; ".join(parts)


def planned_end(runs: pd.DataFrame, end: pd.Series) -> pd.Series:
    """When each run is censored: a diverged one at its last planned epoch, since it never groks, on whatever clock `end` is."""
    if "status" not in runs or "epochs" not in runs:
        return end
    planned = end.where(end > 0, 1.0) * runs["epochs"] / runs["epoch"].clip(lower=1)
    return end.where(runs["status"] != "diverged", planned)
