"""How features move (inductive bias): is training lazy, with features where they began, or do they change all the time?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ..analysis.features import Values, linear_cka
from .base import Stored, probes
from .checkpoints import at_least
from .examples import accuracy, look, some

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@probes.register("features")
def features(stored: Stored) -> pd.DataFrame:
    """Linear CKA of features with those before training and at the checkpoint before, and relative weight change, from epoch 0 on.

    Of `pooled` (h, what attention passes on), `hidden` (the MLP's hidden layer) and `embedding` (of every token), as far as the
    model has them: `…_start`, the likeness to the start, and `…_previous`. `weight_start` and `weight_previous` are
    ‖θ − θ'‖/‖θ'‖ of all weights together. Pooled and hidden features are those of 2048 test inputs; 1 means unmoved.
    """
    examples = some(stored.split.test)
    rows: list[dict[str, float]] = []
    start = before = stored.start()
    first = last = _features(start, look(stored, start, examples))
    for epoch in [0, *at_least(stored, 1)]:
        weights = stored.weights(epoch) if epoch else start
        out = look(stored, weights, examples)
        now = _features(weights, out)
        row = {"epoch": epoch, "test_accuracy": accuracy(out, examples)}
        for name, own in now.items():
            row |= {f"{name}_start": linear_cka(first[name], own), f"{name}_previous": linear_cka(last[name], own)}
        row |= {"weight_start": _change(start, weights), "weight_previous": _change(before, weights)}
        rows.append(row)
        before, last = weights, now
    return pd.DataFrame(rows)


def _features(weights: dict[str, Tensor], out: Output) -> dict[str, Values]:
    found = {
        "pooled": None if out.pooled is None else out.pooled.flatten(1),
        "hidden": out.hidden,
        "embedding": weights.get("W_E"),
    }
    return {name: tensor.double().numpy() for name, tensor in found.items() if tensor is not None}


def _change(old: dict[str, Tensor], new: dict[str, Tensor]) -> float:
    """‖θ − θ'‖/‖θ'‖"""
    before, after = (torch.cat([w[name].flatten().double() for name in old]) for w in (old, new))
    return ((after - before).norm() / before.norm()).item()
