"""Models: one file per architecture, written for one run. The fleet adds the run axis."""

from .base import Model, Neurons, Output, Parameter, is_examplewise, models, overridden

__all__ = ["Model", "Neurons", "Output", "Parameter", "is_examplewise", "models", "overridden"]
