"""The data of a run in the form that the program reads, built on the host from the run's seed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ..ops.lookup import plan
from .splits import set_aside_of, split_of

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tasks import Examples

Batch = dict[str, "Tensor"]
"""Named tensors of one run, or of all runs stacked: vectors, tokens or a lookup plan, labels, informative, target, frozen."""


AtBranch = Callable[["Examples"], "Tensor"]
"""Returns the attention of the network that a run branched from."""


def lane_data(config: RunConfig, target: Tensor | None = None, at_branch: AtBranch | None = None) -> tuple[Batch, ...]:
    """Training and test batch, and that of the examples set aside for validation, if any.

    target      replaces the prior's own target on the training set (a teacher's attention)
    at_branch   for attention that is clamped to its value at the branch
    """
    split = split_of(config.task, config.seed_for("data"))
    train, validation, _ = known_examples(config, split.train)
    batch = batch_of(config, train, at_branch)
    if target is not None:
        batch["target"] = target
    elif config.model.has_attention and (train.informative is not None or not config.prior.needs_informative):
        batch["target"] = config.prior.target_for(train, config.seed_for("data")).float()
    test = batch_of(config, split.test, at_branch)
    return (batch, test) if validation is None else (batch, test, batch_of(config, validation, at_branch))


def known_examples(config: RunConfig, train: Examples) -> tuple[Examples, Examples | None, Examples | None]:
    """The examples that a run is trained on (`train`), those set aside for validation, and those for confirmation.

    Label noise that is drawn once reaches all of them.
    """
    seed = config.seed_for("data")
    parts = (train, *set_aside_of(config.task, seed))
    if not config.noise.labels:
        return parts  # the very tensors of the split, which runs share
    given = [part.labels for part in parts if part is not None]
    labels = config.noise.labels_once(torch.cat(given), config.task.shape.classes, seed)
    own = iter(labels.split([len(part) for part in given]))
    trained = train._replace(labels=next(own))
    validation, confirmation = (None if part is None else part._replace(labels=next(own)) for part in parts[1:])
    return trained, validation, confirmation


def batch_of(config: RunConfig, examples: Examples, at_branch: AtBranch | None = None) -> Batch:
    """Examples in the form that the program reads, with the frozen attention if the run has one; attention that is clamped at
    times only is `clamp`."""
    batch = {"vectors" if config.task.shape.features else "tokens": examples.inputs, "labels": examples.labels}
    if examples.informative is not None:
        batch["informative"] = examples.informative
    clamp = config.do.clamp(examples, at_branch)
    frozen = config.constraint.frozen_attention(examples) if clamp is None else clamp
    if frozen is None:
        return batch
    return batch | {"clamp" if config.do.clamps_at_times else "frozen": frozen.float()}


def with_plan(batch: Batch, vocabulary: int, positions: int, heads: int = 1) -> Batch:
    """Replace the tokens of a batch, if any, by a lookup plan. Works on the batch of one run and on stacked batches.

    heads   add the plan of so many heads (`Plan.for_heads`), if there are several
    """
    if "tokens" not in batch:
        return batch
    planned = plan(batch["tokens"], vocabulary, positions)
    rest = {name: tensor for name, tensor in batch.items() if name != "tokens"} | planned._asdict()
    if heads == 1:
        return rest
    return rest | {f"heads_{name}": tensor for name, tensor in planned.for_heads(heads)._asdict().items()}


def select(batch: Batch, rows: Tensor) -> Batch:
    """Examples `rows` [run, chosen] of a stacked batch."""
    return {
        name: tensor.gather(1, rows.view(*rows.shape, *[1] * (tensor.ndim - 2)).expand(*rows.shape, *tensor.shape[2:]))
        for name, tensor in batch.items()
    }


def stack_like(lanes: int, batch: Batch, device: torch.device) -> Batch:
    """Empty stacked tensors for `lanes` runs shaped like `batch`."""
    return {
        name: torch.zeros(lanes, *tensor.shape, dtype=tensor.dtype, device=device) for name, tensor in batch.items()
    }
