"""Packages that several threads of a training would import first, each at the same time as others.

Python makes a submodule an attribute of its package an instant after it has been imported. A second thread that asks for it in that
instant reaches numpy's `__getattr__`, which imports the submodule again, and so on until a RecursionError.
"""

from __future__ import annotations

import importlib

PACKAGES = (
    "numpy.ctypeslib",
    "numpy.ma",
    "numpy.random",
    "pyarrow.parquet",
    "safetensors.torch",
)


def preload() -> None:
    """Import them in this thread."""
    for name in PACKAGES:
        importlib.import_module(name)
