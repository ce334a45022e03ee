"""Definition of a probe: a function from a stored run to a table with one or more rows per kept checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from ..errors import StoreError
from ..registry import Registry
from ..run import Network, StoredRun

if TYPE_CHECKING:
    import pandas as pd

    from ..store import RunInfo

probes: Registry[Callable[[StoredRun], pd.DataFrame]] = Registry("probe", "grokscope.probes")

THREADS = 2

__all__ = ["Network", "StoredRun", "evaluate", "few_threads", "probed", "probes"]


def evaluate(name: str, run: StoredRun) -> pd.DataFrame:
    """The table of a probe; StoreError, in one line, for a diverged run that it cannot be evaluated on.

    That a run diverged is said on stderr, and which checkpoints are omitted since their weights are not finite.
    """
    try:
        table = probes.get(name)(run)
    except (ValueError, ArithmeticError, torch.linalg.LinAlgError) as error:  # type: ignore[attr-defined]
        if not run.diverged:
            raise
        problem = " ".join(str(error).split())
        raise StoreError(
            f"run {run.id} diverged at epoch {run.info.epoch}: {name} cannot be evaluated ({problem})"
        ) from error
    if run.diverged:
        omitted = ", ".join(map(str, sorted(set(run.epochs) - set(run.finite_epochs))))
        what = f": checkpoint {omitted} omitted, its weights are not finite" if omitted else ""
        print(f"run {run.id} diverged at epoch {run.info.epoch}{what}", file=sys.stderr)
    return table


def probed(name: str, run: RunInfo) -> pd.DataFrame | None:
    """The table of a probe; None if it does not apply to the run."""
    try:
        with few_threads():
            return evaluate(name, StoredRun(run))
    except StoreError:
        return None


@contextmanager
def few_threads() -> Iterator[None]:
    """Use at most THREADS PyTorch threads: the matrices of probes are small, and many threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, THREADS))
    try:
        yield
    finally:
        torch.set_num_threads(before)
