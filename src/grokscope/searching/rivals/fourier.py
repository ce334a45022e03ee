"""The Fourier (Walsh) spectrum of the labels: a parity of k bits is one coefficient."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..settings import LARGEST
from .base import Bout, Outcome, Rival, bits_of, parity_outcome, require_parity, rivals

if TYPE_CHECKING:
    from ...config import RunConfig

AT_ONCE = 20_000


@rivals.register("fourier")
@dataclass(frozen=True, kw_only=True)
class Fourier(Rival):
    """The subset S with the largest |mean of y · Π_{j∈S} x_j| on the training examples, with signs for bits and labels."""

    def check_config(self, config: RunConfig) -> None:
        require_parity(config, "fourier")

    def compete(self, bout: Bout) -> Outcome:
        train, _ = bits_of(bout, "fourier")
        signs, labels = 1.0 - 2.0 * train.inputs[:, :-1], 1.0 - 2.0 * train.labels
        largest, support, count = -1.0, None, 0
        for size in [bout.k] if bout.k is not None else range(1, LARGEST + 1):
            subsets = itertools.combinations(range(signs.shape[1]), size)
            while some := list(itertools.islice(subsets, AT_ONCE)):
                products = torch.ones(len(labels), len(some))
                for place in range(size):
                    products *= signs[:, [own[place] for own in some]]
                values, best = (labels @ products).abs().div(len(labels)).max(0)
                count += len(some)
                if float(values) > largest:
                    largest, support = float(values), some[int(best)]
        return parity_outcome(
            "fourier", bout, support, f"no training: {count:,} coefficients, the largest {largest:.2f}"
        )
