"""How large a step is, and blocks of a batch on a CPU: idle cores share them, and what a block computes stays in the cache.

Blocks depend on the settings of a run alone, and their gradients are added in a fixed order: the bits of a run do not depend on the
number of cores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ..models import is_examplewise
from ..ops.team import block_bounds
from ..priors import Prior

if TYPE_CHECKING:
    from ..config import RunConfig
    from .data import Batch

_VECTORS, _SEQUENCES = 1024, 512
"""Most examples of a block. Every block adds a gradient of all weights, which costs less where an example has several positions."""
_WORTHWHILE = 300_000_000
"""Multiply-adds of a step from which blocks pay off: smaller steps of several runs at once use the cores better."""
_LONG = 50_000_000_000
"""Multiply-adds of a step of all lanes on a GPU, about a millisecond, from which a launch per step is not noticed: a graph of
several would take longer to record than it saves."""


def multiply_adds(config: RunConfig) -> int:
    """Approximate multiply-adds of a step: forward, and twice as many backward."""
    shape = config.task.shape
    weights = sum(math.prod(p.shape) for p in config.model.parameters(shape).values())
    return 3 * (config.batch_size or shape.train_size) * config.model.positions_computed(shape) * weights


def has_long_steps(config: RunConfig, lanes: int) -> bool:
    """Whether a step of so many lanes keeps a GPU busy for longer than a launch takes."""
    return lanes * multiply_adds(config) >= _LONG


def blocks_of(config: RunConfig) -> list[tuple[int, int]]:
    """The blocks of a run's training batch, as (begin, end); one block if it cannot be divided or is too small."""
    examples = config.batch_size or config.task.shape.train_size
    redrawn = config.noise.labels > 0 and config.noise.redraw == "every-step"
    # random numbers are drawn, and penalties are computed, for the whole batch
    whole = getattr(config.model, "dropout", 0) or redrawn or not without_prior(config)
    whole = whole or "batch" in config.do.hooks or config.do.scales_task_loss
    return [(0, examples)] if whole or not divides(config) else _bounds(config, examples)


def divides(config: RunConfig) -> bool:
    """Whether the examples of a run can be computed in blocks, and are worth it."""
    if config.do.clamps_at_times:  # a pass with clamped attention, and one without
        return False
    return is_dense(config) and is_examplewise(config.model) and multiply_adds(config) >= _WORTHWHILE


def is_dense(config: RunConfig) -> bool:
    """Whether most of the work is done for each example. A model with tables over (token, position) would compute them for every
    block."""
    shape = config.task.shape
    return shape.features > 0 or config.model.positions_computed(shape) > 1


def without_prior(config: RunConfig) -> bool:
    """Whether the prior's strength is 0 throughout."""
    return config.prior.beta == 0 and type(config.prior).weight is Prior.weight


def _bounds(config: RunConfig, examples: int) -> list[tuple[int, int]]:
    return block_bounds(examples, _VECTORS if config.task.shape.features else _SEQUENCES)


def divided(batch: Batch, config: RunConfig, blocks: list[tuple[int, int]] | None = None) -> tuple[Batch, ...]:
    """The blocks of a batch of one run, each with a lookup plan of its own; by default those of an evaluation."""
    blocks = blocks or _bounds(config, len(batch["labels"]))
    return tuple(_block(batch, begin, end) for begin, end in blocks) if len(blocks) > 1 else (batch,)


def _block(batch: Batch, begin: int, end: int) -> Batch:
    own = {name: tensor[begin:end] for name, tensor in batch.items() if name not in ("order", "starts")}
    if "row" not in batch:
        return own
    reads = own["row"].flatten()
    order = reads.argsort(stable=True)
    starts = torch.searchsorted(reads[order], torch.arange(len(batch["starts"])))
    return own | {"order": order, "starts": starts}
