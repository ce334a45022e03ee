"""Memorisation by the norm of the MLP's input (inductive bias): what is left of an answer when all inputs have the same norm.

The authors' test replaces the input x of the MLP by x/‖x‖ and leaves the residual stream alone. That also changes the size of
all inputs together; "equal" keeps their mean size and takes away only what tells one example from another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pandas as pd

from ..errors import StoreError
from ..models.parts import FeedForward
from .base import Network, StoredRun, probes
from .checkpoints import at_least
from .examples import accuracy, cross_entropy, some

if TYPE_CHECKING:
    from torch import Tensor


def unit(x: Tensor) -> Tensor:
    """x/‖x‖"""
    return x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def equal(x: Tensor) -> Tensor:
    """x with the mean norm of the examples."""
    return unit(x) * x.norm(dim=-1, keepdim=True).mean(0, keepdim=True)


INPUTS: dict[str, Callable[[Tensor], Tensor] | None] = {"own": None, "equal": equal, "unit": unit}


@probes.register("input-norm")
def input_norm(run: StoredRun) -> pd.DataFrame:
    """Accuracy and cross-entropy when the input of the MLP, behind its norm if it has one, is rescaled, at every checkpoint.

    Columns: `side` (train or test), `norm`: "own" (unchanged), "equal" (every example has the mean norm of the set), "unit"
    (every example has norm 1), in every layer. The residual stream is not changed. Sets have at most 2048 examples.
    """
    if not isinstance(getattr(run.config.model, "mlp", None), FeedForward):
        raise StoreError(f"run {run.id}: model {run.config.model.kind} has no MLP behind attention")
    sets = {side: some(examples) for side, examples in run.split._asdict().items()}
    rows = []
    for epoch in at_least(run, 1):
        network = run.network(epoch)
        for norm, change in INPUTS.items():
            changed = network if change is None else with_input(network, change)
            for side, examples in sets.items():
                out = changed(examples)
                found = {"accuracy": accuracy(out, examples), "cross_entropy": cross_entropy(out, examples)}
                rows.append({"epoch": epoch, "side": side, "norm": norm, **found})
    return pd.DataFrame(rows)


def with_input(network: Network, change: Callable[[Tensor], Tensor]) -> Network:
    """The network whose MLP reads `change` of its input."""
    model = network.config.model
    own = model.mlp  # type: ignore[attr-defined]

    class Changed(type(own)):  # type: ignore[misc]
        def hidden(self, x: Tensor, weights: dict[str, Tensor]) -> Tensor:
            return super().hidden(change(x), weights)

    mlp = Changed(**{field.name: getattr(own, field.name) for field in fields(own)})
    return replace(network, config=replace(network.config, model=replace(model, mlp=mlp)))  # type: ignore[call-arg]
