"""The stacked tensors of many runs, lane by lane: data, weights, optimizer state, hyperparameters, masks; and how a run enters and
leaves a lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ..tickets.base import NoTicket
from .acting import at_branch
from .data import Batch, stack_like
from .division import without_prior
from .layout import Layout
from .objective import hyper_of
from .start import starting_point

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tickets import Origin


class Lanes:
    """`lanes` runs of the same signature as `template`, on one buffer [lane, weight]."""

    def __init__(self, template: RunConfig, lanes: int, device: torch.device):
        self.config = template
        self.lanes = lanes
        self.device = device
        self.shape = template.task.shape
        self.layout = Layout(template.ticket.with_scores(template.model.parameters(self.shape)))
        self.plans_in_steps = bool(template.batch_size) or template.do.reads_tokens
        """Whether the tokens of a step are known in the step only."""
        self.flat = torch.zeros(lanes, self.layout.size, device=device)
        # leaves that share the buffer's memory: an in-place change of `flat` is a change of the weights
        self.weights = {name: w.detach().requires_grad_() for name, w in self.layout.cut(self.flat).items()}
        self.step = torch.zeros(lanes, dtype=torch.int64, device=device)
        self.seed = torch.zeros(lanes, dtype=torch.int64, device=device)
        self.mask: Tensor | None = None
        self._numbers, self.hyper = self._new_hyper(list(hyper_of(template)))
        self.state = {
            "optim": self._new_state(template.optim.init, template.optim.elementwise),
            "filter": self._new_state(lambda weight, role: template.filter.init(weight), template.filter.elementwise),
        }
        self.train: Batch = {}
        self.test: Batch = {}
        self.validation: Batch | None = None
        self._tokens: dict[int, tuple[Tensor, int, Batch]] = {}
        """Tokens of the run that was loaded last, how often they had been written to, and their plan."""

    def planned(self, batch: Batch) -> Batch:
        """A batch in the form in which the runs read it."""
        raise NotImplementedError

    def changed(self) -> None:
        """Called when a lane gets another run."""

    def rebuilt(self) -> None:
        """Called when steps read other tensors than before: a mask where there was none, data with or without a target."""

    def load(
        self,
        lane: int,
        config: RunConfig,
        data: tuple[Batch, ...],
        saved: dict[str, Tensor] | None = None,
        origin: Origin | None = None,
        since: int = 0,
    ) -> None:
        """Load a run into a lane: initialised from its seed (and the `origin` of its ticket), or from saved tensors.

        since   epoch at which a branch began
        """
        sides = [self._ready(number, side) for number, side in enumerate(data)]
        if self.lanes == 1 and without_prior(config):
            sides[0] = {name: tensor for name, tensor in sides[0].items() if name != "target"}
        if not self.train or (self.lanes == 1 and self.train.keys() != sides[0].keys()):
            self.train, self.test, *rest = (stack_like(self.lanes, side, self.device) for side in sides)
            self.validation = rest[0] if rest else None
            self.rebuilt()
        for stacked, own in zip((self.train, self.test, self.validation or {}), sides, strict=False):
            for name, tensor in own.items():
                stacked[name][lane].copy_(tensor)
        hyper = hyper_of(config) | {"branch.epoch": float(since)}
        self._numbers[:, lane] = torch.tensor([hyper[key] for key in self.hyper]).to(self.device)  # in one transfer
        self.seed[lane] = config.seed_for("order")
        self.changed()
        if saved is None:
            needed = {} if isinstance(config.ticket, NoTicket) else self.planned(data[0])
            start = starting_point(config, needed, origin)
            saved = {f"weight/{name}": weight for name, weight in start.weights.items()}
            saved |= {f"mask/{name}": lives for name, lives in start.mask.items()}
            saved = at_branch(config, saved)
        for prefix, tensor in self._vectors():  # each vector in one transfer
            if not any(name.startswith(f"{prefix}/") for name in saved):
                tensor[lane].zero_()  # the state of a new run
                continue
            vector = torch.zeros(tensor.shape[1:], dtype=tensor.dtype)  # a window of gradients has an axis more
            for name, part in self.layout.cut(vector).items():
                if f"{prefix}/{name}" in saved:
                    part.copy_(saved[f"{prefix}/{name}"])
            tensor[lane].copy_(vector)
        for name, tensor in self._others():
            if name in saved:
                tensor[lane].copy_(saved[name])
            else:
                tensor[lane].zero_()
        self._set_mask(lane, {key.removeprefix("mask/"): t for key, t in saved.items() if key.startswith("mask/")})

    def _ready(self, number: int, side: Batch) -> Batch:
        """Training, test or validation batch (`number`) of a run in the form in which it is read. Tokens are moved to the device
        and sorted there, what is the same for all examples is moved once; the rest is left where it is.

        Tokens that the run loaded before has as well, as candidates of a search have, are neither moved nor planned again.
        """
        rest = {name: self._once(tensor) for name, tensor in side.items() if name != "tokens"}
        if "tokens" not in side:
            return self.planned(rest)
        tokens = side["tokens"]
        known = self._tokens.get(number)
        if known is None or known[0] is not tokens or known[1] != tokens._version:
            own = {"tokens": tokens.to(self.device)}
            plan_later = number == 0 and self.plans_in_steps
            known = self._tokens[number] = (tokens, tokens._version, own if plan_later else self.planned(own))
        return rest | known[2]

    def _once(self, tensor: Tensor) -> Tensor:
        """A tensor that repeats its first example, such as the target of fixed positions, on the device; others as they are."""
        repeats = len(tensor) > 1 and tensor.stride(0) == 0
        return tensor[:1].to(self.device).expand(tensor.shape) if repeats else tensor

    def _set_mask(self, lane: int, mask: dict[str, Tensor]) -> None:
        if mask and self.mask is None:
            self.mask = torch.ones_like(self.flat)
            self.rebuilt()
        if self.mask is not None:
            self.mask[lane] = 1.0
            for name, lives in self.layout.cut(self.mask[lane]).items():
                if name in mask:
                    lives.copy_(mask[name])
            self.flat[lane] *= self.mask[lane]

    def unload(self, lane: int) -> dict[str, Tensor]:
        """A copy of the state that a lane needs to continue: weights, optimizer and filter state, step counter, mask."""
        tensors = {
            f"{prefix}/{name}": part
            for prefix, stacked in self._vectors()
            for name, part in self.layout.cut(stacked[lane].to("cpu", copy=True)).items()
        }
        tensors |= {name: stacked[lane].to("cpu", copy=True) for name, stacked in self._others()}
        if self.mask is None:
            return tensors
        masks = self.layout.cut(self.mask[lane].bool().cpu())
        return tensors | {f"mask/{name}": mask for name, mask in masks.items() if not mask.all()}

    def copy_lanes(self, other: Lanes, lanes: list[int]) -> None:
        """Take over the runs in some lanes of another program, in this order."""
        keep = torch.tensor(lanes, device=self.device)
        self.train = {name: tensor[keep] for name, tensor in other.train.items()}
        self.test = {name: tensor[keep] for name, tensor in other.test.items()}
        if other.validation is not None:
            self.validation = {name: tensor[keep] for name, tensor in other.validation.items()}
        self._numbers[:] = other._numbers[:, keep]
        self.seed = other.seed[keep]
        self.step.copy_(other.step[keep])
        self.mask = None if other.mask is None else other.mask[keep]
        self.flat.copy_(other.flat[keep])
        self.state = {component: {key: s[keep] for key, s in state.items()} for component, state in other.state.items()}

    def _vectors(self) -> list[tuple[str, Tensor]]:
        """What is saved with one number per weight, stacked, and the prefix of the names under which it is saved."""
        state = self._state()
        return [("weight", self.flat), *((name, stacked) for name, stacked in state if name.count("/") == 1)]

    def _others(self) -> list[tuple[str, Tensor]]:
        """What else is saved."""
        return [*((name, stacked) for name, stacked in self._state() if name.count("/") > 1), ("step", self.step)]

    def _state(self) -> list[tuple[str, Tensor]]:
        """State of optimizer and filter: `optim/mean`, or `optim/mean/W_Q` if it has a tensor per weight."""
        return [(f"{component}/{key}", s) for component, state in self.state.items() for key, s in state.items()]

    def _new_hyper(self, keys: list[str]) -> tuple[Tensor, dict[str, Tensor]]:
        """Hyperparameters [key, lane] in one buffer, and its rows by name."""
        width = -(-self.lanes // 128) * 128  # rows as aligned as tensors of their own: kernels are compiled for that
        numbers = torch.zeros(len(keys), width, device=self.device)[:, : self.lanes]
        return numbers, dict(zip(keys, numbers, strict=True))

    def _new_state(self, init: Callable[..., dict[str, Tensor]], elementwise: bool) -> dict[str, Tensor]:
        def stacked(state: dict[str, Tensor], suffix: str = "") -> dict[str, Tensor]:
            return {key + suffix: torch.stack([tensor] * self.lanes) for key, tensor in state.items()}

        if elementwise:
            return stacked(init(torch.zeros_like(self.flat[0]), "matrix"))
        state: dict[str, Tensor] = {}
        for name, parameter in self.layout.parameters.items():
            state |= stacked(init(torch.zeros(parameter.shape, device=self.device), parameter.role), f"/{name}")
        return state
