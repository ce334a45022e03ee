"""What the tests of this component share: `test_chunks.bits`, and that files loaded by other tests do not travel to workers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grokscope import loading

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_files", {})
    monkeypatch.setattr(loading, "_folders", [])
