"""Which examples a probe evaluates, and how many of them a network answers correctly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F

from ..models import Output
from ..tasks import Examples
from .base import Network

if TYPE_CHECKING:
    from torch import Tensor

MOST = 2048
"""Examples of a set that are evaluated: enough to know an accuracy to one percentage point."""


def some(examples: Examples) -> Examples:
    """The first ones: sets are in random order."""
    informative = None if examples.informative is None else examples.informative[:MOST]
    return Examples(examples.inputs[:MOST], examples.labels[:MOST], informative)


def in_detail(network: Network, examples: Examples) -> Output:
    """A forward pass with all details that the model has."""
    return network(examples, **({"detail": True} if network.config.model.has_attention else {}))


def accuracy(out: Output, examples: Examples) -> float:
    """Share of correct answers."""
    return (out.answers.argmax(-1) == answers(examples)).double().mean().item()


def cross_entropy(out: Output, examples: Examples) -> float:
    return F.cross_entropy(out.answers.double(), answers(examples)).item()


def answers(examples: Examples) -> Tensor:
    """One class per example, for next-token labels too."""
    return examples.labels if examples.labels.ndim == 1 else examples.labels[:, -1]
