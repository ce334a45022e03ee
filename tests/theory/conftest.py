"""Lets the tests of this component share `theory_cases`, and registers the mark from which the index of equations is made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "equation(paper, *numbers): which equations a test tests; it must call them")
