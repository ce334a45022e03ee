"""What commands print: strict JSON, and tables in which no text is taken for markup."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def to_json(value: Any, *, indent: int | None = 1) -> str:
    """Strict JSON in ASCII: a number that is not finite is null, bytes are base64. NumPy's scalars are plain numbers."""
    return json.dumps(_plain(value), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bytes, memoryview)):
        return b64encode(value).decode()
    if not isinstance(value, (str, int, float)) and hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(table: Table, width: int, *, soft_wrap: bool = False) -> None:
    """Print a table at least `width` wide; text in brackets, as in a setting, stays as it is."""
    from rich.console import Console

    console = Console(markup=False)
    console.width = max(console.width, width)
    console.print(table, soft_wrap=soft_wrap)
