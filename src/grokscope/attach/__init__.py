"""Attach: measures and priors on somebody else's network, in its own training loop. Start with `watch`."""

from .entry import watch
from .scope import Scope

__all__ = ["Scope", "watch"]
