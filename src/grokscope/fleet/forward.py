"""The network of one run as trained: the forward pass of the model with the run's precision and frozen attention, if any."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ..errors import require_arguments
from ..models import Output
from ..ops.lookup import Plan

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..randomness import Key
    from .data import Batch

Weights = dict[str, "Tensor"]


class Forward:
    """A pure function of weights and a planned batch (`data.with_plan`)."""

    def __init__(self, config: RunConfig):
        self.model = config.model
        self.shape = config.task.shape
        self.precision = config.precision
        require_arguments(self.model.forward, "model", "training", "key")

    def __call__(
        self, weights: Weights, batch: Batch, *, training: bool = False, key: Key | None = None, **how: Any
    ) -> Output:
        """`how` as in `Model.forward`; ignored for a model without attention."""
        if "clamped" in batch:
            return self._clamped_at_times(weights, batch, training=training, key=key, **how)
        with self.autocast(batch):
            if not self.model.has_attention:
                return self.model.forward(weights, self.inputs(batch), training=training, key=key)
            attention = {"frozen": batch.get("frozen"), "every_position": self.shape.every_position} | how
            return self.model.forward(weights, self.inputs(batch), training=training, key=key, **attention)

    def _clamped_at_times(self, weights: Weights, batch: Batch, **how: Any) -> Output:
        """Attention is clamped where `clamped` is true: both passes are computed, and one of them is selected."""
        free = {name: tensor for name, tensor in batch.items() if name not in ("clamped", "clamp")}
        learned, held = (self(weights, own, **how) for own in (free, free | {"frozen": batch["clamp"]}))
        fields = learned.tensors()
        other = held.tensors()
        return Output(**{name: torch.where(batch["clamped"], other[name], own) for name, own in fields.items()})

    def shared(self, weights: Weights, batch: Batch, examples: int) -> Weights:
        """What all blocks of so many examples read, of which this batch is one."""
        with self.autocast(batch):
            return self.model.shared(weights, self.inputs(batch), examples)

    def inputs(self, batch: Batch) -> Any:
        """Vectors, or sequences as a lookup plan."""
        return batch["vectors"] if self.shape.features else Plan(batch["row"], batch["order"], batch["starts"])

    def reads(self, batch: Batch) -> Plan | None:
        """The lookup plan of all heads, if the batch has one."""
        return Plan(*(batch[f"heads_{name}"] for name in Plan._fields)) if "heads_row" in batch else None

    def autocast(self, batch: Batch) -> AbstractContextManager[Any]:
        """Matrix products in bf16 if the run uses it; measures see the network as it is trained."""
        if self.precision != "bf16":
            return nullcontext()
        return torch.autocast(batch["labels"].device.type, dtype=torch.bfloat16)
