"""Lets these tests share the cases of tests/theory, and registers the mark from which the index of equations is made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "theory"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "equation(paper, *numbers): which equations a test tests; it must call them")
