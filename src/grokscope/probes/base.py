"""Definition of a probe: a function from a stored run to a table with one or more rows per kept checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from ..registry import Registry
from ..run import Network, StoredRun

if TYPE_CHECKING:
    import pandas as pd

probes: Registry[Callable[[StoredRun], pd.DataFrame]] = Registry("probe", "grokscope.probes")

THREADS = 2

__all__ = ["Network", "StoredRun", "few_threads", "probes"]


@contextmanager
def few_threads() -> Iterator[None]:
    """Use at most THREADS PyTorch threads: the matrices of probes are small, and many threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, THREADS))
    try:
        yield
    finally:
        torch.set_num_threads(before)
