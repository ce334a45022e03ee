"""Processes that help this one: they collect results and evaluate probes, on one core each.

Nothing large is imported here: a helper limits numpy's threads, which is possible only before numpy is imported.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

MOST = 8


def helpers(processes: int) -> ProcessPoolExecutor:
    """A pool of at most so many processes, and at most MOST. They have the user's own entries and no GPU."""
    from .loading import loaded_files

    files = [Path(file["path"]) for file in loaded_files()]
    return ProcessPoolExecutor(
        min(MOST, processes), mp_context=get_context("spawn"), initializer=_begin, initargs=(files,)
    )


def _begin(files: list[Path]) -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked for help decides
    import torch

    from .loading import load_file

    torch.set_num_threads(1)
    for file in files:
        load_file(file)
