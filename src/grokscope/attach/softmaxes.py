"""Softmax calls of networks that compute attention step by step: what enters the softmax are the attention logits.

Which softmax is one of attention only an adapter knows; it asks for the last one. Not an adapter itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F

if TYPE_CHECKING:
    from torch import Tensor

    from .passes import Eye


class Call(NamedTuple):
    """One softmax."""

    scores: Tensor
    """What entered it."""
    used: Tensor
    """The same as a tensor of its own: its gradient is that of the softmax alone, without that of a prior on the scores."""


class Softmaxes:
    """Remembers the last softmax over [batch head query position]."""

    def __init__(self, eye: Eye):
        self.last: Call | None = None
        for function in (F.softmax, torch.softmax, torch.Tensor.softmax):
            eye.handlers[function] = self._handle

    def _handle(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        if args and args[0].ndim == 4:
            self.last = Call(args[0], args[0].view_as(args[0]))
            args = (self.last.used, *args[1:])
        return function(*args, **kwargs)

    def take(self) -> Call | None:
        """The last softmax since this was last called."""
        call, self.last = self.last, None
        return call
