"""The papers' figures are tested on the same synthetic runs as the instrument's, and their rules on the same tables."""

import sys
from pathlib import Path

from tests.figures.conftest import *  # noqa: F403

sys.path.append(str(Path(__file__).parents[1] / "experiments"))
