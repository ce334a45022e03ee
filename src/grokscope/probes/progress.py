"""Restricted and excluded loss (Nanda et al. 2023, "Progress measures for grokking via mechanistic interpretability", §5.1).

Of a net that adds by rotation, the logits are waves in a + b of a few key frequencies. *Restricted* loss keeps only those waves
and each class's mean: it falls when the rotation works, however much memory is still on top. *Excluded* loss takes them away on
the training set: it rises when the net no longer needs its memory.

The projection on cos(ω(a+b)) and sin(ω(a+b)) over all pairs (a, b) only sees the mean of the logits over pairs with equal sums,
so it is done on those means. Key frequencies are chosen by a rule (`probes/frequencies.py`), where the paper chose by eye.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
import torch.nn.functional as F

from ..errors import StoreError
from ..shapes import Float, Int
from .base import Network, StoredRun, probes
from .checkpoints import at_least
from .frequencies import as_words, key_frequencies, modular_task, operand_embedding, projection

if TYPE_CHECKING:
    from torch import Tensor

    from ..tasks import Examples

ROTATIONS = ("+", "-")
"""Operations whose answer is a sum of angles."""


class Waves(NamedTuple):
    """What the logits owe to the key frequencies, for each right answer a ± b."""

    key: Float[Tensor, "answer class"]
    constant: Float[Tensor, "class"]
    """The mean over all pairs."""


@probes.register("progress")
def progress(run: StoredRun) -> pd.DataFrame:
    """Train and test loss, restricted loss (all pairs) and excluded loss (training set) at every checkpoint, for a + b and a − b.

    Key frequencies are those of the last checkpoint: the smallest set that carries 90 % of the power of the operands' embedding
    without its constant part. The net is evaluated on all p² pairs; where there are distractors, with one draw of them that is the
    same at every checkpoint. All losses are cross-entropies, whatever the run was trained with.
    """
    epochs = at_least(run, 1)
    pairs = _all_pairs(run)
    key = key_frequencies(operand_embedding(run, run.network(epochs[-1])))
    rows = []
    for epoch in epochs:
        network = run.network(epoch)
        waves = waves_of(_logits(network, pairs), pairs.labels, key)
        train, test = run.split
        on_train = _logits(network, train)
        rows.append(
            {
                "epoch": epoch,
                "train_loss": _loss(on_train, train.labels),
                "test_loss": _loss(_logits(network, test), test.labels),
                "restricted_loss": _loss((waves.constant + waves.key)[pairs.labels], pairs.labels),
                "excluded_loss": _loss(on_train - waves.key[train.labels], train.labels),
                "key_frequencies": as_words(key),
            }
        )
    return pd.DataFrame(rows)


def waves_of(logits: Float[Tensor, "pair class"], answers: Int[Tensor, "pair"], frequencies: list[int]) -> Waves:
    """The parts of the logits on all pairs that are waves in the answer, and constant.

    Every answer 0 … p−1 must belong to as many pairs as any other.
    """
    classes = logits.shape[1]
    mean = torch.zeros(classes, classes, dtype=logits.dtype).index_add_(0, answers, logits) * (classes / len(logits))
    return Waves(projection(classes, frequencies).to(logits) @ mean, mean.mean(0))


def _all_pairs(run: StoredRun) -> Examples:
    task = modular_task(run)
    if task.op not in ROTATIONS:
        raise StoreError(f"run {run.id} learns a {task.op} b; progress reads runs with task.op = + or -")
    operands = torch.arange(task.p)
    return task.examples(
        torch.cartesian_prod(operands, operands), task.distractors, "test", run.config.seed_for("data")
    )


def _logits(network: Network, examples: Examples) -> Float[Tensor, "example class"]:
    return network(examples).answers.double()


def _loss(logits: Float[Tensor, "example class"], labels: Int[Tensor, "example"]) -> float:
    return F.cross_entropy(logits, labels).item()
