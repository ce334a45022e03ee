"""Models: one file an architecture, written for one run. The fleet adds the run axis."""

from .base import Model, Output, Parameter, models

__all__ = ["Model", "Output", "Parameter", "models"]
