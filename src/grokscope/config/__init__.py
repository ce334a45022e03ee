"""A run, written down: RunConfig is made of each component's frozen settings. Only what is in here can change a run's numbers."""

from .merge import merge, nested
from .run import COMPONENTS, SCHEMA, RunConfig
from .watch import Log, Stop

__all__ = ["COMPONENTS", "SCHEMA", "Log", "RunConfig", "Stop", "merge", "nested"]
