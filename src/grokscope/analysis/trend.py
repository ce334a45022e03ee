"""Permutation tests of arms against one reference arm, and for a trend over an ordered setting.

Runs enter as Prentice–Wilcoxon scores (`pairs.py`): one that never grokked counts as latest. Where arms share their seeds, run s of
one arm and run s of another have the same data and initial weights, and labels are permuted within each seed; else among all runs.
All assignments while they are few, else random ones: no p rests on a distribution that holds for many runs only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..errors import ConfigError, nearest
from .groups import sample_of, samples_of
from .pairs import DRAWS, ROUNDING, prentice_scores, score_differences, sign_flip
from .survival import Sample, holm

SEED = "seed"
"""Column that pairs runs."""
EXACT = 20_000
"""Most assignments of runs to two arms that are all listed."""
NUMBERS = 20_000_000
"""Random numbers that a test for trend may draw; thousands of runs have fewer assignments, but not fewer than FEWEST."""
FEWEST = 2_000
CHUNK = 2_000_000
"""Random numbers that are held at once."""

Array = np.ndarray


class Trend(NamedTuple):
    """Result of a test."""

    z: float
    """Above 0 where runs with larger values grok sooner, in standard deviations of the permutations; 0 if nothing can be
    compared."""
    p: float
    """Two-sided; 1 if nothing can be compared."""
    paired: bool = False
    """Whether labels were permuted within seeds."""


def compare_with(
    runs: pd.DataFrame, by: str, reference: Any, *, time: str = "t_grok", end: str = "epoch"
) -> pd.DataFrame:
    """Permutation test of each arm against a reference arm: one row per other arm with z (above 0 where the arm groks sooner), p,
    p_holm, corrected for the number of comparisons, paired (by the column `seed`, where both arms have the same seeds once each)
    and least, the smallest p that so many runs can give. The other arguments are those of `summarise`."""
    tables: dict[Any, pd.DataFrame] = dict(iter(runs.groupby(by, sort=False, dropna=False)))
    arms = samples_of(runs, by, time, end)
    if reference not in arms:
        raise ConfigError("reference", f"no arm is called {reference!r}. {nearest(str(reference), map(str, arms))}")
    others = [arm for arm in arms if arm != reference]
    rows = []
    for arm in others:
        order = _matched(tables[arm], tables[reference])
        two = (arms[arm], arms[reference])
        test = _paired(*(_take(own, at) for own, at in zip(two, order, strict=True))) if order else _unpaired(*two)
        sizes = [len(own.time) for own in two]
        least = 2.0 / (2 ** sizes[0] if order else math.comb(sum(sizes), sizes[0]))
        rows.append({"arm": arm, "z": test.z, "p": test.p, "paired": test.paired, "least": min(1.0, least)})
    table = pd.DataFrame(rows, columns=["arm", "z", "p", "paired", "least"])
    table["p_holm"] = holm(table["p"])
    return table


def trend_over(
    runs: pd.DataFrame, setting: str, strata: Sequence[str] = (), *, time: str = "t_grok", end: str = "epoch"
) -> Trend:
    """Test for trend over the ranks of a numeric column, within equal values of other columns: the sum of rank times score, against
    permutations of the ranks within each seed, or within each stratum where its values do not share their seeds.

    runs   one row per run, as in `summarise`
    """
    known = runs[runs[setting].notna()]
    ranks = {value: float(rank) for rank, value in enumerate(sorted(known[setting].unique()))}
    groups = known.groupby(list(strata), sort=False, dropna=False) if strata else [((), known)]
    blocks: list[tuple[Array, Array]] = []
    paired = []
    for _, own in groups:
        if own[setting].nunique() < 2:
            continue
        times = sample_of(own, time, end)
        scores, rank = prentice_scores(times.time, times.grokked), own[setting].map(ranks).to_numpy(float)
        places = _seeds_of(own, setting)
        paired.append(places is not None)
        blocks += [(rank[at], scores[at]) for at in (places or [np.arange(len(own))])]
    return _permuted(blocks)._replace(paired=bool(paired) and all(paired))


def _matched(arm: pd.DataFrame, other: pd.DataFrame) -> tuple[Array, Array] | None:
    """The places of the runs of two arms in the order of their seeds; None if they do not have the same seeds, once each."""
    if SEED not in arm:
        return None
    one, two = (own[SEED].to_numpy() for own in (arm, other))
    if len(set(one)) < len(one) or len(set(two)) < len(two) or set(one) != set(two):
        return None
    return np.argsort(one, kind="stable"), np.argsort(two, kind="stable")


def _seeds_of(runs: pd.DataFrame, setting: str) -> list[Array] | None:
    """The places of the runs of each seed; None if the values of the setting do not have the same seeds, once each."""
    if SEED not in runs or runs.duplicated([setting, SEED]).any():
        return None
    values = runs[setting].nunique()
    places = [np.flatnonzero(runs[SEED].to_numpy() == seed) for seed in runs[SEED].unique()]
    return places if all(len(at) == values for at in places) else None


def _take(sample: Sample, places: Array) -> Sample:
    return Sample(sample.time[places], sample.grokked[places])


def _paired(arm: Sample, other: Sample) -> Trend:
    """By the signs of the differences, as the rules of the ledger do."""
    difference = score_differences(arm, other)
    spread = float(np.sqrt(np.square(difference).sum()))
    if spread <= 1e-9:
        return Trend(0.0, 1.0, True)
    p = min(float(sign_flip(difference)), float(sign_flip(-difference)))
    return Trend(float(difference.sum()) / spread, min(1.0, 2 * p), True)


def _unpaired(arm: Sample, other: Sample) -> Trend:
    """By which of all runs belong to the arm."""
    scores = prentice_scores(np.concatenate([arm.time, other.time]), np.concatenate([arm.grokked, other.grokked]))
    own, count = len(arm.time), len(scores)
    every = math.comb(count, own) <= EXACT
    found = _permuted([(np.arange(count) < own, scores)], FEWEST if every else DRAWS)
    if not every or found.z == 0:
        return found
    sums = -scores[np.array(list(combinations(range(count), own)))].sum(1)
    return found._replace(p=_two_sided(sums, -float(scores[:own].sum()), 0))


def _permuted(blocks: Iterable[tuple[Array, Array]], most: int = DRAWS) -> Trend:
    """The sum of weight times score, with a sign that makes it large where large weights are sooner, against random orders of the
    weights within blocks."""
    centred = [(w - w.mean(), s - s.mean()) for w, s in ((np.asarray(w, float), s) for w, s in blocks) if len(w) > 1]
    variance = sum(float((w @ w) * (s @ s)) / (len(w) - 1) for w, s in centred)
    if variance <= 1e-12:
        return Trend(0.0, 1.0)
    observed = -sum(float(w @ s) for w, s in centred)
    draws = int(np.clip(NUMBERS // sum(len(w) for w, _ in centred), FEWEST, most))
    generator, sums = np.random.default_rng(0), np.zeros(draws)
    for weights, scores in centred:
        some = max(1, CHUNK // len(weights))
        for begin in range(0, draws, some):
            size = (min(some, draws - begin), len(weights))
            sums[begin : begin + some] -= weights[generator.random(size, dtype=np.float32).argsort(1)] @ scores
    return Trend(observed / math.sqrt(variance), _two_sided(sums, observed, 1))


def _two_sided(sums: Array, observed: float, own: int) -> float:
    """Twice the smaller share of permutations at least as far on one side.

    own   1 where the observed order is not among them
    """
    slack = ROUNDING * max(float(np.abs(sums).max()), abs(observed))
    tails = min(int((sums >= observed - slack).sum()), int((sums <= observed + slack).sum()))
    return min(1.0, 2 * (tails + own) / (len(sums) + own))
