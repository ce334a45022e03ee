"""The weights of somebody else's network by role and part, as measures read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torch import nn

from ..models import Parameter

if TYPE_CHECKING:
    from torch import Tensor

    from .sights import Sight

MOST_WEIGHTS = 64
"""Weights of which each has a column of its own."""


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The trainable weights by name; shared ones once."""
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


def parameters_of(model: nn.Module, sights: Iterable[Sight]) -> dict[str, Parameter]:
    """Shape, role and part of each weight.

    sights   of a forward pass, whose projections are known

    "attention" are the weights of modules named so that called attention, and of the projections before and after a call; "embed"
    those of embeddings and positions, "norm" those of normalisation, "readout" those of the module that holds the last matrix, and
    "mlp" the rest. Standard deviations at initialisation are not known: 0.
    """
    owners = {id(weight): module for module in model.modules() for weight in module.parameters(recurse=False)}
    attention = _attention_modules(model, sights, owners)
    matrices = [owners[id(weight)] for weight in model.parameters() if weight.ndim > 1]
    last = [owner for owner in matrices if owner not in attention and not isinstance(owner, nn.Embedding)][-1:]
    found = {}
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        owner = owners[id(weight)]
        # a module with parts of its own holds positions or special tokens itself, its matrices are in its parts
        embedding = isinstance(owner, nn.Embedding) or any(owner.children()) or "embed" in name.lower()
        role = "embedding" if embedding else "matrix" if weight.ndim > 1 else "bias"
        if owner in attention:
            part = "attention"
        elif embedding:
            part = "embed"
        elif "norm" in type(owner).__name__.lower():
            part = "norm"
        else:
            part = "readout" if owner in last else "mlp"
        found[name] = Parameter(tuple(weight.shape), role, 0.0, part)  # type: ignore[arg-type]
    return found


def _attention_modules(model: nn.Module, sights: Iterable[Sight], owners: dict[int, nn.Module]) -> set[nn.Module]:
    named = dict(model.named_modules())
    found: set[nn.Module] = set()
    for sight in sights:
        module = named.get(sight.layer)
        if module is not None and any(word in type(module).__name__.lower() for word in ("attention", "attn")):
            found |= set(module.modules())
        found |= {owners[id(weight)] for weight in sight.projections if id(weight) in owners}
    return found - {model}
