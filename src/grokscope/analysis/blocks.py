"""Several arms with seeds as blocks: does any differ? Labels are permuted within each seed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from .pairs import DRAWS, ROUNDING, prentice_scores
from .survival import Sample

FEW = 6
"""Most arms whose orders are listed instead of drawn."""
CHUNK = 20_000


def p_differ(arms: Sequence[Sample], draws: int = DRAWS) -> float:
    """p of "some arm's times differ": variance between arms of the mean Prentice–Wilcoxon score, against random orders of the arms
    within each seed. Entry i of every sample is the same seed."""
    pooled = prentice_scores(np.concatenate([arm.time for arm in arms]), np.concatenate([arm.grokked for arm in arms]))
    scores = pooled.reshape(len(arms), -1).T.astype(np.float32)  # [seed, arm]
    scores = scores - scores.mean(1, keepdims=True)
    observed = (scores.sum(0) ** 2).sum()
    generator = np.random.default_rng(0)
    larger = done = 0
    while done < draws:
        count = min(CHUNK, draws - done)
        larger += int((_drawn(scores, generator, count) >= observed * (1 - ROUNDING)).sum())
        done += count
    return (larger + 1) / (draws + 1)


def _drawn(scores: np.ndarray, generator: np.random.Generator, draws: int) -> np.ndarray:
    """The statistic for random orders [draw]."""
    arms = scores.shape[1]
    sums = np.zeros((draws, arms), dtype=np.float32)
    every = np.array(list(permutations(range(arms)))) if arms <= FEW else None
    for own in scores:
        if every is not None:
            sums += own[every][generator.integers(0, len(every), draws)]
        else:
            sums += own[generator.random((draws, arms), dtype=np.float32).argsort(1)]
    return (sums**2).sum(1)
