"""Gaussian elimination over GF(2): a parity without noise is a linear system of equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ...randomness import stream
from ..candidates import Units
from .base import Bout, Outcome, Rival, bits_of, parity_outcome, require_parity, rivals

if TYPE_CHECKING:
    from ...config import RunConfig


@rivals.register("gf2")
@dataclass(frozen=True, kw_only=True)
class GF2(Rival):
    """Solve X w = y mod 2 on the training examples. Where labels are noisy, on random subsets of n examples; the solution with the
    best accuracy on all training examples counts."""

    tries: int = 200
    """Random subsets that are solved where the whole system has no solution."""

    def check_config(self, config: RunConfig) -> None:
        require_parity(config, "gf2")

    def compete(self, bout: Bout) -> Outcome:
        train, _ = bits_of(bout, "gf2")
        bits, labels = train.inputs[:, :-1], train.labels
        solution = solve(bits, labels)
        note = "no training: one linear system"
        if solution is None:
            generator, best = stream(bout.config.seed_for("data"), "gf2"), -1.0
            for _ in range(self.tries):
                rows = torch.randperm(len(bits), generator=generator)[: bits.shape[1] + 5]
                found = solve(bits[rows], labels[rows])
                if found is not None:
                    fits = float(((bits @ found) % 2 == labels).float().mean())
                    if fits > best:
                        best, solution = fits, found
            note = f"no training: {self.tries} linear systems of random examples"
        support: Units | None = None if solution is None else tuple(solution.nonzero().flatten().tolist())
        return parity_outcome("gf2", bout, support or None, note)


def solve(bits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor | None:
    """A solution w of bits · w = labels mod 2 with 0 for the free unknowns; None if there is none."""
    system = torch.cat([bits % 2, labels[:, None] % 2], 1).bool()
    columns, row = bits.shape[1], 0
    pivots: list[int] = []
    for column in range(columns):
        below = system[row:, column].nonzero().flatten()
        if not len(below):
            continue
        other = row + int(below[0])
        system[[row, other]] = system[[other, row]]
        eliminate = system[:, column].clone()
        eliminate[row] = False
        system[eliminate] ^= system[row]
        pivots.append(column)
        row += 1
        if row == len(system):
            break
    if system[row:, -1].any():
        return None
    solution = torch.zeros(columns, dtype=torch.long)
    solution[pivots] = system[: len(pivots), -1].long()
    return solution
