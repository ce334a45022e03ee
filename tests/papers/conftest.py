"""The papers' figures are tested on the same synthetic runs as the instrument's."""

from tests.figures.conftest import *  # noqa: F403
