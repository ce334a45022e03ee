"""Attach: measures and priors on somebody else's network, in its own training loop. Start with `watch`."""

from .scope import Scope, watch

__all__ = ["Scope", "watch"]
