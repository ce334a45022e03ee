"""Limits of the device, measured in the same process: copying, a large square product, and the products of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from ..ops.graph import captured
from .fleet import WINDOW, fastest_window

if TYPE_CHECKING:
    from torch import Tensor

    from .trace import Product

SECONDS = 0.05
"""About how long each ceiling is timed, several times; the fastest counts."""
ROUNDS = 8


def copy_rate(device: torch.device) -> float:
    """Bytes read and written per second by a large copy."""
    count = 2**28 if device.type == "cuda" else 2**25
    source = torch.zeros(count, device=device)
    target = torch.empty_like(source)
    return 2 * 4 * count / fastest(lambda: target.copy_(source), device)


def square_rate(precision: str, device: torch.device) -> float:
    """Operations (two per multiply-add) per second of a large square product."""
    size = 8192 if device.type == "cuda" else 1536
    a = torch.randn(size, size, device=device, dtype=dtype_of(precision))
    return 2 * size**3 / fastest(lambda: a @ a, device, precision)


def products_seconds(
    products: Sequence[Product], lanes: int, precision: str, device: torch.device, seconds: float = 0.0
) -> float:
    """Seconds that the products of one run-step take when `lanes` runs are batched; on a GPU without launch overhead.

    seconds   how long they are timed; 0 takes a few short rounds
    """
    factors = [(*_factors(product, lanes, precision, device), product.calls) for product in products]

    def step() -> None:
        for a, b, count in factors:
            for _ in range(count):
                a @ b

    return fastest(step, device, precision, seconds) / lanes


def _factors(product: Product, lanes: int, precision: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Both factors, stored as in the step."""
    count = lanes * product.batch

    def factor(rows: int, columns: int, transposed: bool) -> Tensor:
        size = (columns, rows) if transposed else (rows, columns)
        stored = torch.randn(*(size if count == 1 else (count, *size)), device=device, dtype=dtype_of(precision))
        return stored.mT if transposed else stored

    a, b = product.transposed
    return factor(product.rows, product.inner, a), factor(product.inner, product.columns, b)


def fastest(
    function: Callable[[], object], device: torch.device, precision: str = "float32", seconds: float = 0.0
) -> float:
    """Seconds of one call, on a GPU as a recorded graph; timed for `seconds` in windows like everything else, or in short ones."""
    call = captured(function, lambda: [], precision) if device.type == "cuda" else function
    return fastest_window(call, seconds or ROUNDS * SECONDS, device, WINDOW if seconds else SECONDS)


def dtype_of(precision: str) -> torch.dtype:
    return torch.bfloat16 if precision == "bf16" else torch.float32
