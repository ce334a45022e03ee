"""The engine: stacks runs into lanes, steps them as one program, evaluates, retires and refills."""

from .engine import Fleet, Job, Progress, Sink
from .pack import pack, signature

__all__ = ["Fleet", "Job", "Progress", "Sink", "pack", "signature"]
