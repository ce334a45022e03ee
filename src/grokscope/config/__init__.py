"""A run, written down: RunConfig is made of each component's frozen settings. Only what is in here can change a run's numbers."""

from .combine import combine
from .merge import merge, nested
from .run import COMPONENTS, SCHEMA, RunConfig
from .stored import read_stored, read_stored_if_possible, readable_settings
from .watch import Log, Stop

__all__ = [
    "COMPONENTS",
    "SCHEMA",
    "Log",
    "RunConfig",
    "Stop",
    "combine",
    "merge",
    "nested",
    "read_stored",
    "read_stored_if_possible",
    "readable_settings",
]
