"""An intervention in the training of ONE run: pure functions of its flat weights, batch, state and hyperparameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..interventions import Now
from ..randomness import Key
from .objective import Hyper, with_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from .data import Batch
    from .layout import Layout


class Acting:
    """The hooks of a run's intervention (`config.do`)."""

    def __init__(self, config: RunConfig, layout: Layout):
        self.config = config
        self.layout = layout
        self.hooks = config.do.hooks

    def batch(self, batch: Batch, hyper: Hyper, step: Tensor, seed: Tensor) -> Batch:
        do, now = self._now(hyper, step, seed)
        symbols = (hyper["symbols.first"], hyper["symbols.count"])
        changed: Batch = do.batch(batch, now, symbols, self.config.task.shape.classes)
        return changed

    def clamped(self, hyper: Hyper, step: Tensor, seed: Tensor) -> Tensor:
        do, now = self._now(hyper, step, seed)
        active: Tensor = do.clamped(now)
        return active

    def gradient(self, gradient: Tensor, flat: Tensor, hyper: Hyper, step: Tensor, seed: Tensor) -> Tensor:
        do, now = self._now(hyper, step, seed)
        cut = self.layout.cut
        return self.layout.join(do.gradient(cut(gradient), cut(flat), now, self.layout.parameters))

    def update(self, before: Tensor, after: Tensor, decay: Tensor, hyper: Hyper, step: Tensor, seed: Tensor) -> Tensor:
        """decay   η·wd of the step"""
        do, now = self._now(hyper, step, seed)
        cut = self.layout.cut
        return self.layout.join(do.update(cut(before), cut(after), now, self.layout.parameters, decay))

    def weights(self, flat: Tensor, hyper: Hyper, step: Tensor, seed: Tensor) -> Tensor:
        do, now = self._now(hyper, step, seed)
        return self.layout.join(do.weights(self.layout.cut(flat), now, self.layout.parameters))

    def state(self, state: dict[str, Any], hyper: Hyper, step: Tensor, seed: Tensor) -> dict[str, Any]:
        do, now = self._now(hyper, step, seed)
        return {
            component: {key: do.state(tensor, now) for key, tensor in own.items()} for component, own in state.items()
        }

    def age(self, hyper: Hyper, step: Tensor, seed: Tensor) -> Tensor:
        """Steps that the optimizer counts."""
        do, now = self._now(hyper, step, seed)
        age: Tensor = do.age(step, now)
        return age

    def _now(self, hyper: Hyper, step: Tensor, seed: Tensor) -> tuple[Any, Now]:
        per_epoch = self.config.steps_per_epoch
        since = (hyper["branch.epoch"] * per_epoch).to(step.dtype)
        return with_numbers(self.config, "do", hyper), Now(step - since, per_epoch, Key(seed, step).fold("do"))


def at_branch(config: RunConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a checkpoint as the run's intervention leaves them at the branch, before the first step."""
    do, zero = config.do, torch.zeros((), dtype=torch.int64)
    if not do.hooks & {"weights", "state"}:
        return tensors
    now = Now(
        zero, config.steps_per_epoch, Key(torch.tensor(config.seed_for("order")), tensors.get("step", zero)).fold("do")
    )
    parameters = config.ticket.with_scores(config.model.parameters(config.task.shape))
    changed = dict(tensors)
    if "weights" in do.hooks:
        own = {name: tensors[f"weight/{name}"] for name in parameters}
        changed |= {f"weight/{name}": weight for name, weight in do.weights(own, now, parameters).items()}
    if "state" in do.hooks:
        for name, tensor in tensors.items():
            if name.startswith(("optim/", "filter/")):
                changed[name] = do.state(tensor, now)
    return changed
