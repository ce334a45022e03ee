"""The engine: stacks runs into lanes, steps them as one program, evaluates, retires and refills."""

from .engine import Fleet
from .lane import FinishedError, Job, Lane, Progress, Sink
from .stats import TrainingStats

__all__ = ["FinishedError", "Fleet", "Job", "Lane", "Progress", "Sink", "TrainingStats"]
