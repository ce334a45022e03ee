"""Processes that help this one: they collect results and evaluate probes, on one core each.

Nothing large is imported here: numpy's and scipy's threads can be limited only before these are imported.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

MOST = 8


def limit_numpy() -> None:
    """Let numpy and scipy, which are not imported yet, use one thread, unless the user has set OPENBLAS_NUM_THREADS. Their matrices
    are small here, and the optimizer behind the forecasts starts threads even for those of ten rows: with them a fit takes several
    times as long. PyTorch has threads of its own."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def helpers(processes: int) -> ProcessPoolExecutor:
    """A pool of at most so many processes, and at most MOST. They have the user's own entries and no GPU."""
    from .loading import travelling_files

    spawn = get_context("spawn")
    return ProcessPoolExecutor(min(MOST, processes), spawn, initializer=_begin, initargs=(travelling_files(),))


def _begin(files: list[dict[str, Any]]) -> None:
    limit_numpy()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked for help decides
    import torch

    from .loading import load_copies

    torch.set_num_threads(1)
    load_copies(files)
