"""A run as an object: its network (weights, masks, frozen attention and precision as trained), and a stored run."""

from .network import Network
from .stored import StoredRun

__all__ = ["Network", "StoredRun"]
