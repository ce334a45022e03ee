"""A run's network, ready to be called: weights as the model computes with them, frozen attention and precision as trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from ..fleet.data import batch_of, with_plan
from ..fleet.forward import Forward
from ..interventions import Now
from ..priors.base import pooled_log_attention
from ..randomness import Key

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..fleet.data import AtBranch
    from ..models import Output, Parameter
    from ..shapes import Float
    from ..tasks import Examples


@dataclass(frozen=True, kw_only=True)
class Network:
    """A callable network: call it with examples. TF32 exists on GPUs only; elsewhere such a network computes in float32."""

    config: RunConfig
    weights: dict[str, Tensor]
    """Pruned weights are 0, and scores (edge-popup) have been turned into the subnetwork that they choose."""
    mask: Mapping[str, Tensor] = field(default_factory=lambda: MappingProxyType({}))
    """Which weights of a pruned network are kept; empty for a dense one."""
    at_branch: AtBranch | None = None
    """For attention that is clamped to its value at the branch: that value."""
    clamped: bool = True
    """Whether attention that is clamped at times is clamped now."""

    @classmethod
    def from_tensors(
        cls, config: RunConfig, saved: Mapping[str, Tensor], at_branch: AtBranch | None = None, since: int = 0
    ) -> Network:
        """The network in a checkpoint.

        since   epoch at which a branch began
        """
        own, mask = _named(saved, "weight/"), _named(saved, "mask/")
        clamped = True
        if config.do.clamps_at_times:
            step = saved["step"] - since * config.steps_per_epoch
            clamped = bool(config.do.clamped(Now(step, config.steps_per_epoch, Key(step, step))))
        weights = config.ticket.effective(own)
        return cls(config=config, weights=weights, mask=mask, at_branch=at_branch, clamped=clamped)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Shape, role and part of each weight."""
        return self.config.model.parameters(self.config.task.shape)

    def with_weights(self, weights: dict[str, Tensor]) -> Network:
        """The same network with other weights, for example pruned further."""
        return replace(self, weights=weights)

    def double(self) -> Network:
        """In float64 throughout, whatever precision it was trained with."""
        config = replace(self.config, precision="float32")  # no autocast
        return replace(self, config=config, weights={name: weight.double() for name, weight in self.weights.items()})

    @property
    def is_finite(self) -> bool:
        return all(bool(weight.isfinite().all()) for weight in self.weights.values())

    @torch.no_grad()
    def __call__(self, examples: Examples, **how: Any) -> Output:
        """A forward pass without gradients; `how` as in `Model.forward`."""
        return self.forward(examples, **how)

    def forward(self, examples: Examples, **how: Any) -> Output:
        """The same, with gradients on weights that require them."""
        shape, dtype = self.config.task.shape, next(iter(self.weights.values())).dtype
        batch = batch_of(self.config, examples, self.at_branch)
        if (clamp := batch.pop("clamp", None)) is not None and self.clamped:
            batch["frozen"] = clamp
        batch = with_plan(batch, shape.vocabulary, max(shape.length, shape.test_length))
        for name in ("frozen", "vectors"):
            if name in batch:
                batch[name] = batch[name].to(dtype)
        if "frozen" in batch and dtype == torch.float64:  # 1/3 in float32 is not 1/3: normalised again, it sums to one
            batch["frozen"] = batch["frozen"] / batch["frozen"].sum(-1, keepdim=True)
        return Forward(self.config)(self.weights, batch, **how)

    def attention(self, examples: Examples) -> Float[Tensor, "example position"]:
        """Attention of the query, averaged over heads."""
        return pooled_log_attention(self(examples)).exp()


def _named(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
