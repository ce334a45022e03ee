"""The engine: stacks runs into lanes, steps them as one program, evaluates, retires and refills."""

from .crew import Crew, Group, staffing
from .effort import Effort
from .engine import Fleet, Job, Progress, Sink
from .fit import fitting_lanes, free_memory
from .pack import pack, signature

__all__ = [
    "Crew",
    "Effort",
    "Fleet",
    "Group",
    "Job",
    "Progress",
    "Sink",
    "fitting_lanes",
    "free_memory",
    "pack",
    "signature",
    "staffing",
]
