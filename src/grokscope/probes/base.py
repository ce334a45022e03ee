"""What a probe is: a function from a stored run to a table, one row or more a kept checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from ..config import RunConfig, read_stored
from ..fleet.start import initial_weights
from ..ops.lookup import plan
from ..registry import Registry
from ..store import RunInfo, kept_epochs, read_checkpoint

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from ..models import Output
    from ..tasks import Examples, Split

probes: Registry[Callable[[Stored], pd.DataFrame]] = Registry("probe", "grokscope.probes")

THREADS = 2


@contextmanager
def few_threads() -> Iterator[None]:
    """At most THREADS threads of PyTorch: the matrices of probes are small, and many threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, THREADS))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Stored:
    """A stored run, ready to be looked into: its checkpoints, its data, its forward pass."""

    info: RunInfo

    @cached_property
    def config(self) -> RunConfig:
        return read_stored(self.info.config, self.info.id)

    @cached_property
    def split(self) -> Split:
        """Training and test examples, rebuilt from the seed."""
        return self.config.task.split(self.config.seed_for("data"))

    @cached_property
    def epochs(self) -> list[int]:
        """Epochs of the checkpoints; a run that was told to keep some (`log.keep`) has more than its last one."""
        return kept_epochs(self.info)

    def weights(self, epoch: int | None = None) -> dict[str, Tensor]:
        """The weights that the model computes with at a checkpoint, the last one by default."""
        saved = read_checkpoint(self.info, epoch).tensors
        own = {name.removeprefix("weight/"): t for name, t in saved.items() if name.startswith("weight/")}
        return self.config.ticket.effective(own)

    def start(self) -> dict[str, Tensor]:
        """The weights before the first step, redrawn from the seed (without a ticket)."""
        return initial_weights(self.config)

    def forward(self, weights: dict[str, Tensor], examples: Examples, **how: Any) -> Output:
        """The model on any examples, without gradient; `how` as in Model.forward."""
        shape = self.config.task.shape
        inputs: Any = examples.inputs
        if not shape.features:
            inputs = plan(examples.inputs, shape.vocabulary, max(shape.length, shape.test_length))
        with torch.no_grad():
            return self.config.model.forward(weights, inputs, **how)
