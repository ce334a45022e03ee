"""Two interventions at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import within
from ..registry import Registry
from ..settings import component, require
from .base import Intervention, NoIntervention, Now, Parameters, Rates, Tensors, Weights, interventions

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tasks import Examples


class _Single(Registry[type[Intervention]]):
    """All interventions but a pair: settings are not nested without end."""

    def entries(self) -> dict[str, type[Intervention]]:
        return {name: kind for name, kind in interventions.entries().items() if kind is not Both}


singles = _Single("intervention")


@interventions.register("both")
@dataclass(frozen=True, kw_only=True)
class Both(Intervention):
    """Two interventions, each with its own window; the first acts first."""

    first: Intervention = component(singles, NoIntervention)
    """One of them."""
    second: Intervention = component(singles, NoIntervention)
    """The other."""

    @property
    def pair(self) -> dict[str, Intervention]:
        return {"first": self.first, "second": self.second}

    @property
    def needs_branch(self) -> bool:  # type: ignore[override]
        return self.first.needs_branch or self.second.needs_branch

    def check_run(self, config: RunConfig) -> None:
        clamps = [own.clamp.__func__ is not Intervention.clamp for own in self.pair.values()]  # type: ignore[attr-defined]
        require(not all(clamps), "second", "attention can be clamped by one intervention only")
        for name, own in self.pair.items():
            with within(name):
                own.check_run(config)

    @property
    def hooks(self) -> frozenset[str]:
        return self.first.hooks | self.second.hooks

    def rates(self, rates: Rates, now: Now) -> Rates:
        return self.second.rates(self.first.rates(rates, now), now)

    def batch(self, batch: Tensors, now: Now, symbols: tuple[Tensor, Tensor], classes: int) -> Tensors:
        return self.second.batch(self.first.batch(batch, now, symbols, classes), now, symbols, classes)

    def gradient(self, gradient: Weights, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        return self.second.gradient(self.first.gradient(gradient, weights, now, parameters), weights, now, parameters)

    def update(self, before: Weights, after: Weights, now: Now, parameters: Parameters, decay: Tensor) -> Weights:
        after = self.first.update(before, after, now, parameters, decay)
        return self.second.update(before, after, now, parameters, decay)

    def weights(self, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        return self.second.weights(self.first.weights(weights, now, parameters), now, parameters)

    def state(self, tensor: Tensor, now: Now) -> Tensor:
        return self.second.state(self.first.state(tensor, now), now)

    def age(self, step: Tensor, now: Now) -> Tensor:
        return self.second.age(self.first.age(step, now), now)

    def donors(self) -> dict[str, tuple[str, int | str]]:
        return {f"{name}.{field}": run for name, own in self.pair.items() for field, run in own.donors().items()}

    def starts(self) -> dict[str, int]:
        return {f"{name}.{field}": epoch for name, own in self.pair.items() for field, epoch in own.starts().items()}

    def graft(self, tensors: Tensors, donors: Mapping[str, Tensors], parameters: Parameters, path: str = "") -> Tensors:
        for name, own in self.pair.items():
            tensors = own.graft(tensors, donors, parameters, f"{path}{name}.")
        return tensors

    def clamp(self, examples: Examples, at_branch: Callable[[Examples], Tensor] | None) -> Tensor | None:
        first = self.first.clamp(examples, at_branch)
        return self.second.clamp(examples, at_branch) if first is None else first

    @property
    def scales_task_loss(self) -> bool:
        return self.first.scales_task_loss or self.second.scales_task_loss

    @property
    def reads_tokens(self) -> bool:
        return self.first.reads_tokens or self.second.reads_tokens

    @property
    def clamps_to_branch(self) -> bool:
        return self.first.clamps_to_branch or self.second.clamps_to_branch

    @property
    def clamps_at_times(self) -> bool:
        return self.first.clamps_at_times or self.second.clamps_at_times

    def clamped(self, now: Now) -> Tensor:
        return self.first.clamped(now) & self.second.clamped(now)
