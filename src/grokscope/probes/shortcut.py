"""Shortcuts (inductive bias): how well a run answers from a part of the sequence, the rest being another example's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ..errors import StoreError
from ..randomness import stream
from ..shapes import Bool
from ..tasks import Examples
from .base import StoredRun, probes
from .checkpoints import at_least
from .examples import accuracy, cross_entropy, in_detail, some

if TYPE_CHECKING:
    from torch import Tensor


@probes.register("shortcut")
def shortcut(run: StoredRun) -> pd.DataFrame:
    """Accuracy and cross-entropy of the right answer when only some tokens are the example's own, at every checkpoint.

    Columns: `side` (train or test sequences) and `kept`, which tokens stay: "everything"; "operands" (what is lost to
    "everything" comes from the distractors); "distractors"; "operand 1" … alone; "all but operand 1" … (that operand is
    replaced and the distractors stay). All other tokens come from one other random example of the same set, at the same
    positions; the expected answer remains that of the example, on training sequences the memorised one. Needs operands at
    fixed places.
    """
    rows = []
    sets = {side: some(examples) for side, examples in run.split._asdict().items()}
    for epoch in at_least(run, 1):
        network = run.network(epoch)
        for side, examples in sets.items():
            other = examples.inputs[_another(len(examples.labels), run.config.seed_for("data"))]
            for kept, stays in groups(run, examples).items():
                mixed = examples._replace(inputs=torch.where(stays, examples.inputs, other))
                out = in_detail(network, mixed)
                found = {"accuracy": accuracy(out, examples), "cross_entropy": cross_entropy(out, examples)}
                rows.append({"epoch": epoch, "side": side, "kept": kept, **found})
    return pd.DataFrame(rows)


def groups(run: StoredRun, examples: Examples) -> dict[str, Bool[Tensor, "position"]]:
    """Which positions stay, by the name of what is kept; the query always does."""
    if examples.informative is None or (examples.informative != examples.informative[0]).any():
        raise StoreError(f"run {run.id}: shortcut needs a task whose operands have fixed, known positions")
    operands = examples.informative[0]
    query = torch.arange(len(operands)) == len(operands) - 1
    distractors = ~operands & ~query
    each = [torch.arange(len(operands)) == place for place in operands.nonzero().flatten()]
    kept = {"everything": operands | distractors}
    if distractors.any():
        kept |= {"operands": operands, "distractors": distractors}
    kept |= {f"operand {count + 1}": one for count, one in enumerate(each)}
    kept |= {f"all but operand {count + 1}": ~one for count, one in enumerate(each)}
    return {name: stays | query for name, stays in kept.items()}


def _another(examples: int, seed: int) -> Tensor:
    """For each example another one, all in a random ring."""
    order = torch.randperm(examples, generator=stream(seed, "shortcut"))
    return torch.empty_like(order).scatter_(0, order, order.roll(1))
