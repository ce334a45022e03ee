"""The stacked tensors of many runs, lane by lane: data, weights, optimizer state, hyperparameters, masks; and how a run enters and
leaves a lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import ref

import torch

from ..tickets.base import NoTicket
from .acting import at_branch
from .data import Batch, stack_like
from .division import without_prior
from .guard import no_randomness_at_start
from .lane_state import LaneState
from .last_run import LastRun
from .layout import Layout
from .objective import hyper_of
from .start import starting_point

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tickets import Origin


class Lanes:
    """`lanes` runs of the same signature as `template`, on one buffer [lane, weight]."""

    def __init__(self, template: RunConfig, lanes: int, device: torch.device, last: LastRun | None = None):
        """last   what was made of the run that was loaded last, into this program or the one before"""
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
        self._last = last or LastRun()
        self._held: dict[tuple[int, int, str], tuple[ref[Tensor], int]] = {}
        """Which tensor was copied into a lane, by lane, side and name, and how often it had been written to."""
        self._told: dict[int, tuple[list[float], int]] = {}
        """Hyperparameters and seed of the run in each lane."""

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
        saved: Mapping[str, Tensor] | None = None,
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
            self._held.clear()
            self.rebuilt()
        for number, (stacked, own) in enumerate(
            zip((self.train, self.test, self.validation or {}), sides, strict=False)
        ):
            for name, part in own.items():
                self._put(stacked[name], (lane, number, name), part)
        hyper = hyper_of(config) | {"branch.epoch": float(since)}
        numbers, seed = [hyper[key] for key in self.hyper], config.seed_for("order")
        if self._told.get(lane) != (numbers, seed):  # those of the candidates of a search are the same
            self._numbers[:, lane] = self._sent(torch.tensor(numbers))  # in one transfer
            self.seed[lane] = seed
            self._told[lane] = numbers, seed
        self.changed()
        state = self._beginning(config, data, origin) if saved is None else self._state_of(saved)
        known = state.vectors | state.others
        for name, tensor in (*self._vectors(), *self._others()):  # each vector in one transfer
            if name in known:
                tensor[lane].copy_(known[name])
            else:
                tensor[lane].zero_()  # the state of a new run
        self._set_mask(lane, state.masks)

    def _ready(self, number: int, side: Batch) -> Batch:
        """Training, test or validation batch (`number`) of a run on the device, in the form in which it is read.

        What the run loaded before has as well, as candidates of a search have, is neither moved nor planned again.
        """
        rest = {
            name: self._last.once(number, name, tensor, self._moved)
            for name, tensor in side.items()
            if name != "tokens"
        }
        if "tokens" not in side:
            return self.planned(rest)
        plan_later = number == 0 and self.plans_in_steps

        def read(tokens: Tensor) -> Batch:
            own = {"tokens": tokens.to(self.device)}
            return own if plan_later else self.planned(own)

        return rest | self._last.once(number, "tokens", side["tokens"], read)

    def _moved(self, tensor: Tensor) -> Tensor:
        """A tensor on the device. Of one that repeats its first example, such as the target of fixed positions, that is moved."""
        if len(tensor) > 1 and tensor.stride(0) == 0:
            return self._sent(tensor[:1]).expand(tensor.shape)
        return tensor.to(self.device)

    def _sent(self, tensor: Tensor) -> Tensor:
        """A few numbers on the device. The host does not wait until the GPU has done what other fleets have asked of it."""
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    def _put(self, stacked: Tensor, place: tuple[int, int, str], tensor: Tensor) -> None:
        """Copy data into a lane, unless the run that it held before has the same."""
        held = self._held.get(place)
        if held is None or held[0]() is not tensor or held[1] != tensor._version:
            stacked[place[0]].copy_(tensor)
            self._held[place] = (ref(tensor), tensor._version)

    def _state_of(self, saved: Mapping[str, Tensor]) -> LaneState:
        """What is saved by name, as it is copied into a lane."""
        if isinstance(saved, LaneState):
            return saved
        vectors = {
            prefix: self._vector(saved, prefix, stacked)
            for prefix, stacked in self._vectors()
            if any(name.startswith(f"{prefix}/") for name in saved)
        }
        others = {name: saved[name] for name, _ in self._others() if name in saved}
        masks = {name.removeprefix("mask/"): mask for name, mask in saved.items() if name.startswith("mask/")}
        return LaneState(self.layout, vectors, others, masks)

    def _beginning(self, config: RunConfig, data: tuple[Batch, ...], origin: Origin | None) -> LaneState:
        """Weights and mask of a run before its first step. Of runs that differ in their priors alone they are drawn once."""
        dense = isinstance(config.ticket, NoTicket)
        plain = dense and not config.do.hooks & {"weights", "state"}
        drawn_from = (config.model, config.seed_for("init"))
        if plain and self._last.begun is not None and self._last.begun[0] == drawn_from:
            return self._last.begun[1]
        with no_randomness_at_start():
            start = starting_point(config, {} if dense else self.planned(data[0]), origin)
            saved = {f"mask/{name}": lives for name, lives in start.mask.items()}
            saved |= {f"weight/{name}": weight for name, weight in start.weights.items()}
            if not plain:
                return self._state_of(at_branch(config, saved))
        vector = self._vector(saved, "weight", self.flat).to(self.device)
        self._last.begun = (drawn_from, LaneState(self.layout, {"weight": vector}, {}, {}))
        return self._last.begun[1]

    def _vector(self, saved: Mapping[str, Tensor], prefix: str, like: Tensor) -> Tensor:
        """What is saved under a prefix as one vector, zeros where nothing is; `like` is the stacked tensor that it belongs to."""
        own = {name: saved[key] for name in self.layout.parameters if (key := f"{prefix}/{name}") in saved}
        if (whole := self.layout.whole(own)) is not None:
            return whole
        vector = torch.zeros(like.shape[1:], dtype=like.dtype)  # a window of gradients has an axis more
        for name, part in self.layout.cut(vector).items():
            if name in own:
                part.copy_(own[name])
        return vector

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
        return dict(self.unload_each([lane])[0])

    def unload_each(self, lanes: Sequence[int], stay: bool = False) -> list[LaneState]:
        """`unload` of several lanes, which cross to the host together. There each has memory of its own, which is freed with it.

        stay   leave them on the device, where other streams may read them
        """
        keep = torch.tensor(lanes, device=self.device)

        def here(stacked: Tensor) -> list[Tensor]:
            if stay:
                return [stacked[lane].clone() for lane in lanes]
            rows = stacked[keep].cpu()
            return list(rows) if len(lanes) == 1 else [row.clone() for row in rows]

        vectors = [(prefix, here(stacked)) for prefix, stacked in self._vectors()]
        others = [(name, here(stacked)) for name, stacked in self._others()]
        masks = None if self.mask is None else [row.bool() for row in here(self.mask)]
        found = []
        for place in range(len(lanes)):
            own = {} if masks is None else self.layout.cut(masks[place])
            found.append(
                LaneState(
                    self.layout,
                    {prefix: rows[place] for prefix, rows in vectors},
                    {name: rows[place] for name, rows in others},
                    {name: mask for name, mask in own.items() if not mask.all()},
                )
            )
        if stay and self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        return found

    def copy_lanes(self, other: Lanes, lanes: list[int]) -> None:
        """Take over the runs in some lanes of another program, in this order."""
        keep = torch.tensor(lanes, device=self.device)
        self.train = {name: tensor[keep] for name, tensor in other.train.items()}
        self.test = {name: tensor[keep] for name, tensor in other.test.items()}
        if other.validation is not None:
            self.validation = {name: tensor[keep] for name, tensor in other.validation.items()}
        self._told.clear()
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
