"""What a probe is: a function from a stored run to a table, one row or more a kept checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from ..config import RunConfig
from ..models.lookup import plan
from ..registry import Registry
from ..store import RunInfo, read_checkpoint
from ..store.layout import checkpoint_files

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from ..models import Output
    from ..tasks import Examples, Split

probes: Registry[Callable[[Stored], pd.DataFrame]] = Registry("probe", "grokscope.probes")


@dataclass(frozen=True)
class Stored:
    """A stored run, ready to be looked into: its checkpoints, its data, its forward pass."""

    info: RunInfo

    @cached_property
    def config(self) -> RunConfig:
        return RunConfig.from_dict(self.info.config)

    @cached_property
    def split(self) -> Split:
        """Training and test examples, rebuilt from the seed."""
        return self.config.task.split(self.config.seed)

    @cached_property
    def epochs(self) -> list[int]:
        """Epochs of the checkpoints; a run that was told to keep some (`log.keep`) has more than its last one."""
        return sorted(file.epoch for file in checkpoint_files(self.info.path))

    def weights(self, epoch: int | None = None) -> dict[str, Tensor]:
        """The weights of a checkpoint, the last one by default."""
        return self._tensors("weight/", epoch)

    def start(self) -> dict[str, Tensor]:
        """The weights before the first step, redrawn from the seed (without a ticket)."""
        from ..randomness import stream

        return self.config.model.init(self.config.task.shape, stream(self.config.seed, "weights"))

    def _tensors(self, prefix: str, epoch: int | None) -> dict[str, Tensor]:
        saved = read_checkpoint(self.info, epoch).tensors
        return {name.removeprefix(prefix): t for name, t in saved.items() if name.startswith(prefix)}

    def forward(self, weights: dict[str, Tensor], examples: Examples, **how: Any) -> Output:
        """The model on any examples, without gradient; `how` as in Model.forward."""
        shape = self.config.task.shape
        inputs: Any = examples.inputs
        if not shape.features:
            inputs = plan(examples.inputs, shape.vocabulary, max(shape.length, shape.test_length))
        with torch.no_grad():
            return self.config.model.forward(weights, inputs, **how)
