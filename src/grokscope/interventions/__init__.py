"""Interventions: changes to a run in mid-training, one file each; and the branch that a run starts from."""

from .base import Intervention, Now, Rates, interventions
from .branch import Branch

__all__ = ["Branch", "Intervention", "Now", "Rates", "interventions"]
