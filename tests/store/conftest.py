"""Lets the tests of this component share `sample_run`, and spares them the wait for the disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fsync adds shows after a power cut only, which no test can stage. That it is called is tested by count."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
