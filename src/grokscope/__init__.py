"""grokscope: an instrument for grokking. Trains, measures and explains why a memorising network waits before it generalises.

    import grokscope
    config = grokscope.RunConfig()                       # the paper's default; change it with dataclasses.replace
    runs = grokscope.train(config, seeds=5)              # five seeds side by side, stored under runs/
    table = grokscope.load_runs("runs")                  # a pandas table, one row per evaluation
    grokscope.plot.curves(runs)                          # a matplotlib figure, which a notebook shows

Names are imported when first used, since PyTorch takes seconds to import.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("MKL_CBWR", "AUTO")  # before MKL's first product; see ops/blas.py

__version__ = "1.0.0"

_HOME = {
    "RunConfig": "config",
    "train": "attach.fleet",
    "train_all": "launch.submit",
    "search": "searching.api",
    "watch": "attach",
    "log": "attach.loop",
    "load_runs": "store",
    "list_runs": "store",
    "find_run": "store",
    "read_metrics": "store.metrics",
    "GrokscopeError": "errors",
    "ConfigError": "errors",
    "StoreError": "errors",
}

_MODULES = ("analysis", "plot")
"""Modules that are attributes without an import of their own."""

__all__ = ["__version__", *_HOME, *_MODULES]  # noqa: PLE0604

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import plot as plot
    from .attach import watch as watch
    from .attach.fleet import train as train
    from .attach.loop import log as log
    from .config import RunConfig as RunConfig
    from .errors import ConfigError as ConfigError
    from .errors import GrokscopeError as GrokscopeError
    from .errors import StoreError as StoreError
    from .launch.submit import train_all as train_all
    from .searching.api import search as search
    from .store import find_run as find_run
    from .store import list_runs as list_runs
    from .store import load_runs as load_runs
    from .store.metrics import read_metrics as read_metrics


def __dir__() -> list[str]:
    """The public names, for tab completion: most are imported when they are first used."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'grokscope' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
