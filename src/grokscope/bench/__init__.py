"""Speed of the fleet: compared with a plain training loop in the same process, with the limits of the device, and as sizes grow.

A run-step is one optimizer step of one run. Both train the paper's default (or the given config) and evaluate at the
default interval: the plain loop its losses and accuracies, the fleet all of its diagnostics.
"""

from .fleet import FleetLoop
from .plain import PlainTransformer

__all__ = ["FleetLoop", "PlainTransformer"]
