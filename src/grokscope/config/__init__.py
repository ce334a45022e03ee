"""RunConfig, the configuration of a run: the frozen settings of its components. Nothing else changes the numbers of a run."""

from ..garbage import imports

with imports():  # PyTorch comes with it
    from .combine import combine
    from .merge import merge, nested
    from .run import COMPONENTS, SCHEMA, RunConfig, require_config
    from .seeded import with_seeds
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
    "require_config",
    "with_seeds",
]
