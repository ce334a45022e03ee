"""Lets the tests of this component share `test_chunks.bits`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
