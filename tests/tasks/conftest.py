"""Small versions of every task, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from grokscope.tasks import Task, tasks

SMALL: dict[str, dict[str, Any]] = {
    "modular": {"p": 7},
    "k-addition": {"p": 5, "k": 3},
    "parity": {"n": 7, "k": 3, "train_fraction": 0.3},
    "ar-parity": {"n": 7, "k": 3, "train_fraction": 0.3},
    "permutation": {"n": 3},
    "polynomial": {"dimension": 5, "train_size": 20, "test_size": 30},
}


@pytest.fixture(scope="session")
def small(on_disk: dict[str, dict[str, Any]]) -> Callable[..., Task]:
    """A task by name, of a size for tests, with some settings changed."""

    def build(kind: str, **settings: Any) -> Task:
        task = tasks.get(kind)(**SMALL.get(kind, on_disk.get(kind, {})) | settings)
        task.check()
        return task

    return build
