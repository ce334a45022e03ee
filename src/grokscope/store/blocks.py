"""Matrices as cells of a table, for figures: one byte per number or one bit per flag, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = 127
"""Quantisation steps between 0 and the largest magnitude in a block."""


def number_cells(matrix: NDArray[Any]) -> dict[str, Any]:
    """Encode a block of real numbers as columns rows, columns, scale (the largest magnitude) and numbers."""
    scale = float(np.abs(matrix).max(initial=0.0))
    steps = np.rint(matrix / (scale or 1.0) * LEVELS).astype(np.int8)
    return {"rows": matrix.shape[0], "columns": matrix.shape[1], "scale": scale, "numbers": steps.tobytes()}


def numbers_of(cells: Mapping[str, Any]) -> NDArray[np.float64]:
    """Decode a block of real numbers; the error of each is at most scale/254."""
    steps = np.frombuffer(cells["numbers"], dtype=np.int8).reshape(cells["rows"], cells["columns"])
    return steps * (cells["scale"] / LEVELS)


def flag_cell(matrix: NDArray[np.bool_]) -> bytes:
    """Encode a block of flags."""
    return np.packbits(matrix).tobytes()


def flags_of(cell: bytes, rows: int, columns: int) -> NDArray[np.bool_]:
    """Decode a block of flags."""
    bits = np.unpackbits(np.frombuffer(cell, dtype=np.uint8), count=rows * columns)
    return bits.reshape(rows, columns).astype(bool)
