"""Where a transformer may have a norm: before a matrix, never on the residual stream."""

from __future__ import annotations

from typing import Literal

Placement = Literal["none", "attention", "mlp", "both", "query-key", "value"]

PATHS: dict[Placement, frozenset[str]] = {
    "none": frozenset(),
    "attention": frozenset({"query-key", "value"}),
    "mlp": frozenset({"mlp"}),
    "both": frozenset({"query-key", "value", "mlp"}),
    "query-key": frozenset({"query-key"}),
    "value": frozenset({"value"}),
}
"""Which paths each placement normalises."""

Site = Literal["attention", "mlp"]
SITES: dict[Site, frozenset[str]] = {"attention": frozenset({"query-key", "value"}), "mlp": frozenset({"mlp"})}
"""The norms of a block, and the paths that read each of them: queries, keys and values share one."""
