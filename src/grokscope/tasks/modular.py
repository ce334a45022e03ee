"""Modular arithmetic among distractors: the classic of grokking (Power et al. 2022; structural-inference, App. A.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor

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
}

TYPED = str.maketrans({"−": "-", "×": "*", "÷": "/", "²": "2"})
"""Typographic signs that mean the same as a plain one."""


@tasks.register("modular")
@dataclass(frozen=True, kw_only=True)
class Modular(SparseTask):
    """a op b mod p."""

    p: int = 113
    """Modulus. Operands are 0 … p−1."""
    op: Literal["+", "-", "*", "/", "x2+y2", "x2+xy+y2"] = "+"
    """What is done with a and b. Division (a·b⁻¹) needs a prime p and leaves out b = 0."""

    @classmethod
    def from_dict(cls, plain: dict[str, Any], *, room: str = "") -> Self:
        op = plain.get("op")
        plain = {**plain, "op": op.translate(TYPED)} if isinstance(op, str) else plain
        return super().from_dict(plain, room=room)

    @property
    def columns(self) -> tuple[range, ...]:
        return range(self.p), range(1 if self.op == "/" else 0, self.p)

    @property
    def symbols(self) -> int:
        return self.p

    @property
    def classes(self) -> int:
        return self.p

    def check(self) -> None:
        require(self.p >= 2, "p", f"{self.p} is below 2")
        require(self.op in OPS, "op", f"{self.op!r} is not possible. {nearest(str(self.op), OPS)}")
        if self.op == "/":
            require(is_prime(self.p), "p", f"{self.p} is not prime; division needs a prime modulus")
        super().check()

    @checked
    def label(self, rows: Int[Tensor, "row column"]) -> Int[Tensor, "row"]:
        a, b = rows.unbind(dim=1)
        return OPS[self.op](a, b, self.p)


def is_prime(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def inverses(p: int) -> Int[Tensor, "number"]:
    """b⁻¹ mod p at index b, for a prime p; 0 has none and stands for itself."""
    return torch.tensor([0, *(pow(b, -1, p) for b in range(1, p))])
