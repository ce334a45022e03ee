"""One optimizer step of ONE run: filter, clip, update, project. A pure function of its flat weights, gradient and state."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..errors import require_arguments
from ..ops.clipping import clip_scale
from ..optim.adamw import AdamW
from ..optim.filters import NoFilter
from ..randomness import Key
from ..tickets.base import rates_of
from .objective import Hyper, with_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from .layout import Layout

State = dict[str, dict[str, "Tensor"]]
"""Per component (optim, filter), by name; a rule that works weight by weight has names such as mean/W_Q."""


class Update:
    """The update rule, without the hyperparameters of the run."""

    def __init__(self, config: RunConfig, layout: Layout):
        require_arguments(config.optim.update, "optim", "key")
        self.config = config
        self.layout = layout
        self.rates = rates_of(config.ticket, layout.parameters)
        self.is_plain_adamw = (
            type(config.optim) is AdamW  # not a subclass
            and type(config.filter) is NoFilter
            and self.rates is None
            and not config.constraint.norm
        )

    def __call__(
        self,
        flat: Tensor,
        grad: Tensor,
        state: State,
        hyper: Hyper,
        lr: Tensor,
        step: Tensor,
        seed: Tensor,
        age: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """age   steps that the optimizer counts, where its state was reset; None: all"""
        optim, filter = (with_numbers(self.config, part, hyper) for part in ("optim", "filter"))
        now, key = (step if age is None else age) + 1, Key(seed, step)
        grad, filter_state = self._each(
            filter.elementwise, flat, grad, state["filter"], lambda w, g, s, *_: filter.apply(w, g, s, step=now)
        )
        if self.rates is not None:
            own_lr, own_decay = self._parameter_rates(flat)
            grad = grad * (own_lr != 0)
            lr = torch.where(own_lr.isnan(), lr, own_lr)
            decay = torch.where(own_decay.isnan(), optim.weight_decay, own_decay)
            optim = dataclasses.replace(optim, weight_decay=decay)
        grad = grad * clip_scale(grad.norm(), optim.clip)

        def rule(w: Tensor, g: Tensor, s: dict[str, Tensor], role: Any, name: str) -> tuple[Tensor, dict[str, Tensor]]:
            return optim.update(w, g, s, role=role, step=now, lr=lr, key=key.fold(name))

        flat, optim_state = self._each(optim.elementwise, flat, grad, state["optim"], rule)
        if self.config.constraint.norm:
            constraint = with_numbers(self.config, "constraint", hyper)
            flat = self.layout.join(constraint.project(self.layout.cut(flat), self.layout.parameters))
        return flat, {"optim": optim_state, "filter": filter_state}

    def masked(
        self,
        flat: Tensor,
        grad: Tensor,
        state: State,
        hyper: Hyper,
        lr: Tensor,
        step: Tensor,
        seed: Tensor,
        age: Tensor | None,
        mask: Tensor,
    ) -> tuple[Tensor, State]:
        """A pruned weight has no gradient and stays exactly zero."""
        flat, state = self(flat, grad * mask, state, hyper, lr, step, seed, age)
        return flat * mask, state

    def _parameter_rates(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Learning rate and weight decay of every weight in the vector; NaN is the optimizer's own."""
        assert self.rates is not None
        every = [(math.prod(self.layout.parameters[name].shape), rate) for name, rate in self.rates.items()]

        def spread(numbers: list[float | None]) -> Tensor:
            sizes = [size for size, _ in every]
            filled = [
                torch.full((n,), math.nan if x is None else x, device=flat.device)
                for n, x in zip(sizes, numbers, strict=True)
            ]
            return torch.cat(filled)

        return spread([rate.lr for _, rate in every]), spread([rate.weight_decay for _, rate in every])

    def _each(
        self,
        elementwise: bool,
        flat: Tensor,
        grad: Tensor,
        state: dict[str, Tensor],
        rule: Callable[..., tuple[Tensor, dict[str, Tensor]]],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Apply a rule to all weights as one vector, or to each weight in its own shape and role."""
        if elementwise:
            return rule(flat, grad, state, "matrix", "weights")
        results: dict[str, Tensor] = {}
        new_state: dict[str, Tensor] = {}
        weights, grads = self.layout.cut(flat), self.layout.cut(grad)
        for name, parameter in self.layout.parameters.items():
            own = {key.removesuffix(f"/{name}"): s for key, s in state.items() if key.endswith(f"/{name}")}
            results[name], own = rule(weights[name], grads[name], own, parameter.role, name)
            new_state |= {f"{key}/{name}": s for key, s in own.items()}
        return self.layout.join(results), new_state
