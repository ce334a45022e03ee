"""Lets the tests of this folder share `pages`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
