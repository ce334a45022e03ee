"""The update of a plain loop: ``torch.optim`` where it has the optimizer, else the package's own rule for one weight at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ...optim.adamw import AdamW
from ...optim.base import Optimizer
from ...optim.filters import NoFilter
from ...optim.sgd import SGD
from ...tickets.base import rates_of

if TYPE_CHECKING:
    from ...config import RunConfig
    from ...models import Parameter
    from ...randomness import Key

Oriented = Callable[[str, Tensor], Tensor]
"""A weight, by its name, as the model stores it (`PlainNetwork.to_model`), or back."""


def optimizer_for(
    config: RunConfig,
    weights: Mapping[str, nn.Parameter],
    parameters: Mapping[str, Parameter],
    to_model: Oriented,
    from_model: Oriented,
    key: Callable[[], Key],
) -> torch.optim.Optimizer:
    """An optimizer of the trained weights. A group with "fixed" keeps its learning rate, the others follow the schedule."""
    groups = _groups(config, weights)
    own = config.optim
    if type(own) is AdamW:
        return torch.optim.AdamW(groups, lr=own.lr, betas=(own.beta1, own.beta2), eps=own.eps)
    if type(own) is SGD:
        return torch.optim.SGD(groups, lr=own.lr, momentum=own.momentum)
    return ReferenceOptimizer(groups, own, weights, parameters, to_model, from_model, key)


def _groups(config: RunConfig, weights: Mapping[str, nn.Parameter]) -> list[dict[str, Any]]:
    rates = rates_of(config.ticket, config.ticket.with_scores(config.model.parameters(config.task.shape))) or {}
    groups: dict[tuple[float | None, float | None], dict[str, Any]] = {}
    for name, weight in weights.items():
        lr, own_decay = rates.get(name, (None, None))
        if lr == 0:
            weight.requires_grad_(False)
            continue
        decay = config.optim.weight_decay if own_decay is None else own_decay
        start = {"params": [], "names": [], "weight_decay": decay, "fixed": lr is not None}
        if lr is not None:
            start["lr"] = lr
        group = groups.setdefault((lr, own_decay), start)
        group["params"].append(weight)
        group["names"].append(name)
    return list(groups.values())


class ReferenceOptimizer(torch.optim.Optimizer):
    """`Optimizer.update` of the package, applied to one weight after another."""

    def __init__(
        self,
        groups: list[dict[str, Any]],
        rule: Optimizer,
        weights: Mapping[str, nn.Parameter],
        parameters: Mapping[str, Parameter],
        to_model: Oriented,
        from_model: Oriented,
        key: Callable[[], Key],
    ):
        super().__init__(groups, {"lr": rule.lr})
        self.rule, self.roles = rule, {name: parameters[name].role for name in weights}
        self.to_model, self.from_model, self.key = to_model, from_model, key

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            rule = dataclasses.replace(self.rule, weight_decay=group["weight_decay"])
            for name, weight in zip(group["names"], group["params"], strict=True):
                state, role = self.state[weight], self.roles[name]
                now, grad = self.to_model(name, weight), self.to_model(name, weight.grad)
                if not state:
                    state["step"], state["own"] = 0, rule.init(now, role)
                state["step"] += 1
                step = torch.tensor(state["step"])  # on the host, which costs a GPU nothing
                new, state["own"] = rule.update(
                    now, grad, state["own"], role=role, step=step, lr=group["lr"], key=self.key().fold(name)
                )
                weight.copy_(self.from_model(name, new))


class PlainFilter:
    """The gradient filter, applied to one gradient after another."""

    def __init__(self, config: RunConfig, to_model: Oriented, from_model: Oriented):
        self.rule, self.to_model, self.from_model = config.filter, to_model, from_model
        self.states: dict[str, dict[str, Tensor]] = {}
        self.step = 0

    @torch.no_grad()
    def __call__(self, weights: Mapping[str, nn.Parameter]) -> None:
        """Replace the gradients of the trained weights."""
        if isinstance(self.rule, NoFilter):
            return
        self.step += 1
        for name, weight in weights.items():
            if weight.grad is None:
                continue
            now, grad = self.to_model(name, weight), self.to_model(name, weight.grad)
            state = self.states.get(name) or self.rule.init(now)
            new, self.states[name] = self.rule.apply(now, grad, state, torch.tensor(self.step, device=now.device))
            weight.grad.copy_(self.from_model(name, new))
