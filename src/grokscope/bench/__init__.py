"""Speed of the fleet: compared with a plain training loop in the same process, with the limits of the device, and as sizes grow.

A run-step is one optimizer step of one run. Both train the paper's default (or the given config) and evaluate at the
default interval: the plain loop its loss and accuracy on the test set, the fleet all of its diagnostics.
"""

from .fleet import FleetLoop
from .plain import PlainLoop, plain_network

__all__ = ["FleetLoop", "PlainLoop", "plain_network"]
