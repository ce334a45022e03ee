"""Tasks: one file each. A task yields tokens, labels and, for every example, the positions of the informative tokens."""

from .base import Examples, Shape, Split, Task, score_name, tasks

__all__ = ["Examples", "Shape", "Split", "Task", "score_name", "tasks"]
