"""The plain training loop that the fleet is compared with: one run, eager PyTorch, written as a simple script would be."""

from .loop import PlainLoop
from .network import PlainNetwork, plain_network, plain_networks

__all__ = ["PlainLoop", "PlainNetwork", "plain_network", "plain_networks"]
