"""How fast the fleet is: beside a plain training loop timed in the same run, beside what the device allows, and as things grow.

A run-step is one optimizer step of one run. Both sides train the paper's default (or what is asked for) and measure at the
default interval: the plain loop its losses and accuracies, the fleet all of its diagnostics.
"""

from .fleet import FleetLoop
from .plain import PlainTransformer

__all__ = ["FleetLoop", "PlainTransformer"]
