"""Modular arithmetic among distractors: the classic of grokking (Power et al. 2022; structural-inference, App. A.1).

The operations are those of Power et al. Grokking tickets (§3.1) has unordered pairs and no distractors: "all pairs where
a ≥ b" are p(p+1)/2 = 2278 for p = 67; the 2211 it counts would be those without a = b. Its code takes the same pairs for
subtraction, whose answer then does not depend on the order in which the operands are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Generator, Tensor

from ..errors import nearest
from ..settings import require
from ..shapes import Int, checked
from .base import tasks
from .sparse import SparseTask

OPS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "+": lambda a, b, p: (a + b) % p,
    "-": lambda a, b, p: (a - b) % p,
    "*": lambda a, b, p: (a * b) % p,
    "/": lambda a, b, p: (a * inverses(p)[b]) % p,
    "x2+y2": lambda a, b, p: (a * a + b * b) % p,
    "x2+xy+y2": lambda a, b, p: (a * a + a * b + b * b) % p,
    "x2+xy+y2+x": lambda a, b, p: (a * a + a * b + b * b + a) % p,
    "x3+xy": lambda a, b, p: (a * a * a + a * b) % p,
    "x3+xy2+y": lambda a, b, p: (a * a * a + a * b * b + b) % p,
    "/ or -": lambda a, b, p: torch.where(b % 2 == 1, a * inverses(p)[b], a - b) % p,
}
DIVIDES = ("/", "/ or -")
COMMUTES = ("+", "*", "x2+y2", "x2+xy+y2")

TYPED = str.maketrans({"−": "-", "×": "*", "÷": "/", "²": "2", "³": "3"})
"""Typographic signs that mean the same as a plain one."""


@tasks.register("modular")
@dataclass(frozen=True, kw_only=True)
class Modular(SparseTask):
    """a op b mod p."""

    p: int = 113
    """Modulus. Operands are 0 … p−1."""
    op: Literal["+", "-", "*", "/", "x2+y2", "x2+xy+y2", "x2+xy+y2+x", "x3+xy", "x3+xy2+y", "/ or -"] = "+"
    """The operation on a and b. Division (a·b⁻¹) needs a prime p and excludes b = 0; "/ or -" divides by odd b and
    subtracts even b."""
    pairs: Literal["all", "unordered", "a>=b"] = "all"
    """All pairs of operands; each pair once with a ≥ b, where the order makes no difference to the answer; or the pairs with a ≥ b
    of any operation, so that the larger operand is a whatever the order."""

    @classmethod
    def respell(cls, plain: dict[str, Any]) -> dict[str, Any]:
        op = plain.get("op")
        return {**plain, "op": op.translate(TYPED)} if isinstance(op, str) else plain

    @property
    def columns(self) -> tuple[range, ...]:
        return range(self.p), range(1 if self.op == "/" else 0, self.p)

    @property
    def symbols(self) -> int:
        return self.p

    @property
    def classes(self) -> int:
        return self.p

    @property
    def rows(self) -> int:
        return super().rows if self.pairs == "all" else self.p * (self.p + 1) // 2

    def draw(self, count: int, generator: Generator) -> Int[Tensor, "row column"]:
        if self.pairs == "all":
            return super().draw(count, generator)
        return torch.tril_indices(self.p, self.p).T[torch.randperm(self.rows, generator=generator)[:count]]

    def check(self) -> None:
        require(self.p >= 2, "p", f"{self.p} is below 2")
        require(self.op in OPS, "op", f"{self.op!r} is not a valid choice. {nearest(str(self.op), OPS)}")
        if self.op in DIVIDES:
            require(is_prime(self.p), "p", f"{self.p} is not prime; division needs a prime modulus")
        require(self.pairs != "a>=b" or self.op != "/", "pairs", "a>=b would include b = 0, which division excludes")
        if self.pairs == "unordered":
            one_of = ", ".join(COMMUTES)
            require(
                self.op in COMMUTES,
                "pairs",
                f"{self.op} depends on the order of a and b; unordered needs {one_of}, or take a>=b",
            )
        super().check()

    @checked
    def label(self, rows: Int[Tensor, "row column"]) -> Int[Tensor, "row"]:
        a, b = rows.unbind(dim=1)
        return OPS[self.op](a, b, self.p)


WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Bases for which the Miller–Rabin test is exact below 3 · 10²³ (Sorenson and Webster 2017)."""


def is_prime(number: int) -> bool:
    """By the Miller–Rabin test: quick for every integer that a setting can have."""
    if number < 2 or any(number % prime == 0 for prime in WITNESSES):
        return number in WITNESSES
    twos = ((number - 1) & (1 - number)).bit_length() - 1  # how often 2 divides n − 1
    for base in WITNESSES:
        power = pow(base, (number - 1) >> twos, number)
        if power != 1 and all(pow(power, 1 << step, number) != number - 1 for step in range(twos)):
            return False
    return True


def inverses(p: int) -> Int[Tensor, "number"]:
    """b⁻¹ mod p at index b, for a prime p; 0 has none and stands for itself."""
    return torch.tensor([0, *(pow(b, -1, p) for b in range(1, p))])
