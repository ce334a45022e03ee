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
TABLES = 100
"""Tables whose orders are added up at once."""


def p_differ(arms: Sequence[Sample], draws: int = DRAWS) -> float:
    """p of "some arm's times differ": variance between arms of the mean Prentice–Wilcoxon score, against random orders of the arms
    within each seed. Entry i of every sample is the same seed."""
    time, grokked = (np.stack(own) for own in zip(*arms, strict=True))
    return float(p_differ_in_tables(Sample(time[None], grokked[None]), draws)[0])


def p_differ_in_tables(tables: Sample, draws: int = DRAWS) -> np.ndarray:
    """The same for times [table, arm, seed] of several tables, all against the same random orders."""
    count, arms, seeds = tables.time.shape
    pooled = prentice_scores(tables.time.reshape(count, -1), tables.grokked.reshape(count, -1))
    scores = pooled.reshape(tables.time.shape).transpose(0, 2, 1).astype(np.float32)  # [table, seed, arm]
    scores = np.ascontiguousarray(scores - scores.mean(2, keepdims=True))
    observed = (scores.sum(1) ** 2).sum(1)
    every = np.array(list(permutations(range(arms)))) if arms <= FEW else None
    generator = np.random.default_rng(0)
    larger, done = np.zeros(count, dtype=int), 0
    while done < draws:
        at_once = min(CHUNK, draws - done)
        orders = [_orders(every, arms, generator, at_once) for _ in range(seeds)]
        for first in range(0, count, TABLES):
            some = slice(first, first + TABLES)
            drawn = _drawn(scores[some], orders, every)
            larger[some] += (drawn >= observed[some, None] * (1 - ROUNDING)).sum(1)
        done += at_once
    return (larger + 1) / (draws + 1)


def _orders(every: np.ndarray | None, arms: int, generator: np.random.Generator, draws: int) -> np.ndarray:
    """Random orders of the arms: which of `every` order [draw], or the orders [draw, arm]."""
    if every is not None:
        return generator.integers(0, len(every), draws)
    return generator.random((draws, arms), dtype=np.float32).argsort(1)


def _drawn(scores: np.ndarray, orders: Sequence[np.ndarray], every: np.ndarray | None) -> np.ndarray:
    """The statistic for random orders [table, draw]."""
    sums = np.zeros((len(scores), len(orders[0]), scores.shape[2]), dtype=np.float32)
    for seed, order in enumerate(orders):
        own = scores[:, seed]
        sums += own[:, order] if every is None else own[:, every][:, order]
    return (sums**2).sum(2)
