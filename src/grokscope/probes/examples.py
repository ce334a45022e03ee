"""Which examples a probe looks at, and how many of them a run gets right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F

from ..models import Output
from ..tasks import Examples
from .base import Stored

if TYPE_CHECKING:
    from torch import Tensor

MOST = 2048
"""Examples of a set that are looked at: enough to know an accuracy to one percentage point."""


def some(examples: Examples) -> Examples:
    """The first ones: sets are in random order."""
    informative = None if examples.informative is None else examples.informative[:MOST]
    return Examples(examples.inputs[:MOST], examples.labels[:MOST], informative)


def look(stored: Stored, weights: dict[str, Tensor], examples: Examples) -> Output:
    """A forward pass with all details that the model has."""
    return stored.forward(weights, examples, **({"detail": True} if stored.config.model.has_attention else {}))


def accuracy(out: Output, examples: Examples) -> float:
    """Share of right answers."""
    return (out.logits.argmax(-1) == answers(examples)).double().mean().item()


def cross_entropy(out: Output, examples: Examples) -> float:
    return F.cross_entropy(out.logits.double(), answers(examples)).item()


def answers(examples: Examples) -> Tensor:
    """One class an example, for next-token labels too."""
    return examples.labels if examples.labels.ndim == 1 else examples.labels[:, -1]
