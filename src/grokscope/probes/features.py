"""How features move (inductive bias): is training lazy, with features where they began, or do they change all the time?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ..analysis.features import Values, linear_cka
from .base import Network, StoredRun, probes
from .checkpoints import at_least
from .examples import accuracy, in_detail, some

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Output


@probes.register("features")
def features(run: StoredRun) -> pd.DataFrame:
    """Linear CKA of features with those before training and at the checkpoint before, and relative weight change, from epoch 0 on.

    Of `pooled` (h, what attention passes on), `hidden` (the MLP's hidden layer) and `embedding` (of every token), as far as the
    model has them: `…_start`, the likeness to the start, and `…_previous`. `weight_start` and `weight_previous` are
    ‖θ − θ'‖/‖θ'‖ of all weights together. Pooled and hidden features are those of 2048 test inputs; 1 means unmoved.
    """
    examples = some(run.split.test)
    rows: list[dict[str, float]] = []
    start = before = run.start()
    first = last = _features(start, in_detail(start, examples))
    for epoch in [0, *at_least(run, 1)]:
        network = run.network(epoch) if epoch else start
        out = in_detail(network, examples)
        now = _features(network, out)
        row = {"epoch": epoch, "test_accuracy": accuracy(out, examples)}
        for name, own in now.items():
            row |= {f"{name}_start": linear_cka(first[name], own), f"{name}_previous": linear_cka(last[name], own)}
        row |= {
            "weight_start": _change(start.weights, network.weights),
            "weight_previous": _change(before.weights, network.weights),
        }
        rows.append(row)
        before, last = network, now
    return pd.DataFrame(rows)


def _features(network: Network, out: Output) -> dict[str, Values]:
    found = {
        "pooled": None if out.pooled is None else out.pooled.flatten(1),
        "hidden": out.hidden,
        "embedding": network.weights.get("W_E"),
    }
    return {name: tensor.double().numpy() for name, tensor in found.items() if tensor is not None}


def _change(old: dict[str, Tensor], new: dict[str, Tensor]) -> float:
    """‖θ − θ'‖/‖θ'‖"""
    before, after = (torch.cat([w[name].flatten().double() for name in old]) for w in (old, new))
    return ((after - before).norm() / before.norm()).item()
