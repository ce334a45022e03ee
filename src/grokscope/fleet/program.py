"""Many runs as one stacked program. Everything below the vmap is written for one run; here it gets its run axis.

Weights of all lanes live in one buffer [lane, weight]; each lane has its own data, settings, optimizer state, step
counter and mask. No operation mixes lanes, so what happens in one (NaN included) does not reach another.
"""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.func import vmap

from ..measures import measures
from ..measures.base import Side, View
from ..models import Output
from ..models.lookup import Plan
from ..optim import losses
from ..optim.base import clip_scale
from ..priors.base import Key
from ..randomness import counter_uniform
from .data import Batch, select, stack_like, with_plan
from .graph import captured
from .layout import Layout
from .memory import keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from ..config import RunConfig

_ROOMS = ("optim", "filter", "prior", "constraint")
"""Rooms whose numbers may differ between lanes and are read inside the program."""


class Program:
    """`lanes` runs of the same signature as `template`."""

    def __init__(self, template: RunConfig, lanes: int, device: torch.device):
        if device.type == "cpu":
            keep_freed_memory()
        self.config = template
        self.lanes = lanes
        self.device = device
        self.shape = template.task.shape
        self.layout = Layout(template.model.parameters(self.shape))
        self.loss = losses.get(template.loss)
        self.flat = torch.zeros(lanes, self.layout.size, device=device)
        # leaves that share the buffer's memory: an in-place change of `flat` is a change of the weights
        self.weights = {name: w.detach().requires_grad_() for name, w in self.layout.cut(self.flat).items()}
        self.step = torch.zeros(lanes, dtype=torch.int64, device=device)
        self.seed = torch.zeros(lanes, dtype=torch.int64, device=device)
        self.mask: Tensor | None = None
        self.hyper = {key: torch.zeros(lanes, device=device) for key in _hyper(template)}
        self.state = {
            "optim": self._new_state(template.optim.init, template.optim.elementwise),
            "filter": self._new_state(lambda w, role: template.filter.init(w), template.filter.elementwise),
        }
        self.train: Batch = {}
        self.test: Batch = {}
        self._train_step = captured(self._eager_step, self._changing) if device.type == "cuda" else self._eager_step
        self._look = captured(self._eager_look, lambda: []) if device.type == "cuda" else self._eager_look

    # ── lanes ────────────────────────────────────────────────────────────────────────────────────────────────

    def load(
        self,
        lane: int,
        config: RunConfig,
        data: tuple[Batch, Batch],
        saved: dict[str, Tensor] | None,
        mask: Tensor | None,
    ) -> None:
        """Put a run into a lane: fresh from its seed, or from saved tensors."""
        train, test = data
        train, test = (train if self.config.batch_size else self._planned(train)), self._planned(test)
        if not self.train:
            self.train, self.test = (
                stack_like(self.lanes, train, self.device),
                stack_like(self.lanes, test, self.device),
            )
        for stacked, own in ((self.train, train), (self.test, test)):
            for name, tensor in own.items():
                stacked[name][lane].copy_(tensor)
        for key, value in _hyper(config).items():
            self.hyper[key][lane] = value
        self.seed[lane] = config.seed
        for tensor in self._saved(lane).values():
            tensor.zero_()
        if mask is not None and self.mask is None:
            self.mask = torch.ones_like(self.flat)
            if self.device.type == "cuda":  # the recorded step knows no mask
                self._train_step = captured(self._eager_step, self._changing)
        if self.mask is not None:
            self.mask[lane] = 1.0 if mask is None else mask.to(self.device)
        with torch.no_grad():
            if saved is None:
                saved = {f"weight/{name}": w for name, w in config.model.init(self.shape, _init_stream(config)).items()}
            mine = self._saved(lane)
            for name, tensor in saved.items():
                mine[name].copy_(tensor)
            if self.mask is not None:
                self.flat[lane] *= self.mask[lane]

    def unload(self, lane: int) -> dict[str, Tensor]:
        """A copy of all that a lane needs to go on: weights, optimizer and filter state, step counter."""
        return {name: tensor.detach().to("cpu", copy=True) for name, tensor in self._saved(lane).items()}

    def narrow(self, lanes: list[int]) -> Program:
        """The same program with only these lanes."""
        program = Program(self.config, len(lanes), self.device)
        keep = torch.tensor(lanes, device=self.device)
        program.train = {name: tensor[keep] for name, tensor in self.train.items()}
        program.test = {name: tensor[keep] for name, tensor in self.test.items()}
        program.hyper = {name: tensor[keep] for name, tensor in self.hyper.items()}
        program.seed, program.step = self.seed[keep], self.step[keep]
        program.mask = None if self.mask is None else self.mask[keep]
        program.flat.copy_(self.flat[keep])
        program.state = {room: {key: s[keep] for key, s in state.items()} for room, state in self.state.items()}
        return program

    def _saved(self, lane: int) -> dict[str, Tensor]:
        """Views of one lane's own state, by the names it is saved under."""
        views = {f"weight/{name}": w for name, w in self.layout.cut(self.flat[lane]).items()}
        for room, state in self.state.items():
            for key, stacked in state.items():
                if "/" in key or stacked.shape[-1] != self.layout.size:
                    views[f"{room}/{key}"] = stacked[lane]
                else:
                    views |= {f"{room}/{key}/{name}": part for name, part in self.layout.cut(stacked[lane]).items()}
        views["step"] = self.step[lane]
        return views

    def _new_state(self, init: Callable[..., dict[str, Tensor]], elementwise: bool) -> dict[str, Tensor]:
        if elementwise:
            return {
                key: torch.stack([s] * self.lanes) for key, s in init(torch.zeros_like(self.flat[0]), "matrix").items()
            }
        state = {}
        for name, parameter in self.layout.parameters.items():
            for key, s in init(torch.zeros(parameter.shape, device=self.device), parameter.role).items():
                state[f"{key}/{name}"] = torch.stack([s] * self.lanes)
        return state

    # ── training ─────────────────────────────────────────────────────────────────────────────────────────────

    def train_epoch(self) -> None:
        """One pass over each lane's training set."""
        with self._precision():
            for _ in range(self.config.steps_per_epoch):
                self._train_step()

    def finish(self) -> None:
        """Wait until the device has done all it was asked to."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _eager_step(self) -> None:
        batch = self._batch()
        with self._autocast():
            total = vmap(self._total_loss)(self.weights, self.hyper, batch, self.step, self.seed)
        # frozen attention leaves W_Q and W_K unused: their gradient is 0
        grads = torch.autograd.grad(total.sum(), list(self.weights.values()), allow_unused=True, materialize_grads=True)
        with torch.no_grad():
            grad = self.layout.join(dict(zip(self.weights, grads, strict=True)))
            arguments = (self.flat, grad, self.state, self.hyper, self.step)
            if self.mask is None:
                flat, state = vmap(self._update)(*arguments)
            else:
                flat, state = vmap(self._masked_update)(*arguments, self.mask)
            self.flat.copy_(flat)
            for room, tensors in state.items():
                for key, tensor in tensors.items():
                    self.state[room][key].copy_(tensor)
            self.step += 1

    def _changing(self) -> list[Tensor]:
        """All that a step changes."""
        return [self.flat, self.step, *(tensor for room in self.state.values() for tensor in room.values())]

    def _batch(self) -> Batch:
        """What this step trains on: everything, or the next slice of this epoch's own order of each lane."""
        if not (size := self.config.batch_size):
            return self.train
        per_epoch = self.config.steps_per_epoch
        key = vmap(lambda seed, epoch: counter_uniform(seed, epoch, (self.shape.train_size,)))(
            self.seed, self.step // per_epoch
        )
        begin = (self.step % per_epoch * size)[:, None]
        rows = key.argsort(dim=1, stable=True).gather(1, begin + torch.arange(size, device=self.device))
        return self._planned(select(self.train, rows))

    def _total_loss(
        self, weights: dict[str, Tensor], hyper: dict[str, Tensor], batch: Batch, step: Tensor, seed: Tensor
    ) -> Tensor:
        """Task loss + prior + penalties of one run."""
        rooms = self._bind(hyper)
        out = self._forward(weights, batch)
        total = self._loss(out.logits, batch["labels"]).mean() + self._prior_loss(rooms, out, batch, step, seed)
        return total + rooms["constraint"].penalty(weights) if self.config.constraint.qk_penalty else total

    def _prior_loss(self, rooms: dict[str, Any], out: Output, batch: Batch, step: Tensor, seed: Tensor) -> Tensor:
        prior = rooms["prior"]
        epoch = step / self.config.steps_per_epoch
        return prior.weight(epoch) * prior.penalty(out, batch["target"], Key(seed, step))

    def _forward(self, weights: dict[str, Tensor], batch: Batch, **how: Any) -> Output:
        plan = Plan(batch["row"], batch["order"], batch["starts"])
        return self.config.model.forward(
            weights, plan, frozen=batch.get("frozen"), every_position=self.shape.every_position, **how
        )

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Loss of each example; a next-token loss is averaged over positions."""
        each = self.loss(logits.float().flatten(0, -2), labels.flatten())
        return each.view(labels.shape).flatten(1).mean(1) if labels.ndim > 1 else each

    def _update(
        self, flat: Tensor, grad: Tensor, state: dict[str, Any], hyper: dict[str, Tensor], step: Tensor
    ) -> tuple[Tensor, Any]:
        """Filter, clip, step, project: one run."""
        rooms = self._bind(hyper)
        optim, filter = rooms["optim"], rooms["filter"]
        now = step + 1
        grad, filter_state = self._each(
            filter.elementwise, flat, grad, state["filter"], lambda w, g, s, role: filter.apply(w, g, s, step=now)
        )
        if optim.clip is not None:
            grad = grad * clip_scale(grad.norm(), optim.clip)
        lr = optim.rate(now / self.config.steps_per_epoch, hyper["epochs"])
        flat, optim_state = self._each(
            optim.elementwise, flat, grad, state["optim"],
            lambda w, g, s, role: optim.update(w, g, s, role=role, step=now, lr=lr),
        )  # fmt: skip
        if self.config.constraint.norm:
            projected = rooms["constraint"].project(self.layout.cut(flat), self.layout.parameters)
            flat = self.layout.join(projected)
        return flat, {"optim": optim_state, "filter": filter_state}

    def _masked_update(
        self, flat: Tensor, grad: Tensor, state: dict[str, Any], hyper: dict[str, Tensor], step: Tensor, mask: Tensor
    ) -> tuple[Tensor, Any]:
        """A pruned weight has no gradient and stays exactly zero."""
        flat, state = self._update(flat, grad * mask, state, hyper, step)
        return flat * mask, state

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
            return rule(flat, grad, state, "matrix")
        results: dict[str, Tensor] = {}
        new_state: dict[str, Tensor] = {}
        weights, grads = self.layout.cut(flat), self.layout.cut(grad)
        for name, parameter in self.layout.parameters.items():
            own = {key.removesuffix(f"/{name}"): s for key, s in state.items() if key.endswith(f"/{name}")}
            results[name], own = rule(weights[name], grads[name], own, parameter.role)
            new_state |= {f"{key}/{name}": s for key, s in own.items()}
        return self.layout.join(results), new_state

    def _bind(self, hyper: dict[str, Tensor]) -> dict[str, Any]:
        """The template's rooms with this lane's own numbers in their fields."""
        rooms = {}
        for room in _ROOMS:
            own = {key.removeprefix(f"{room}."): value for key, value in hyper.items() if key.startswith(f"{room}.")}
            rooms[room] = dataclasses.replace(getattr(self.config, room), **own)
        return rooms

    # ── measuring ────────────────────────────────────────────────────────────────────────────────────────────

    def evaluate(self) -> dict[str, list[float]]:
        """Every registered measure of every lane."""
        with self._precision():
            values = self._look()
        table = torch.stack(list(values.values())).cpu()
        return dict(zip(values, table.tolist(), strict=True))

    def _eager_look(self) -> dict[str, Tensor]:
        train = self._planned(self.train) if self.config.batch_size else self.train
        out, cross_entropy, gradient = self._observe_train(train)
        with torch.no_grad():
            return vmap(self._measure)(
                self.weights, self.hyper, out, cross_entropy, gradient, train, self.test, self.step, self.seed
            )

    def _measure(
        self,
        weights: dict[str, Tensor],
        hyper: dict[str, Tensor],
        out: Output,
        cross_entropy: Tensor,
        gradient: Tensor,
        train: Batch,
        test: Batch,
        step: Tensor,
        seed: Tensor,
    ) -> dict[str, Tensor]:
        """All measures of one run."""
        sides = self._side(out, train), self._side(self._forward(weights, test), test)
        prior_loss = self._prior_loss(self._bind(hyper), out, train, step, seed)
        lipschitz = self.config.model.lipschitz(weights)
        view = View(
            self.config.model, self.layout.parameters, weights, *sides, cross_entropy, gradient, prior_loss, lipschitz
        )
        return {name: value.float() for measure in measures.entries().values() for name, value in measure(view).items()}

    def _side(self, out: Output, batch: Batch) -> Side:
        return Side(out, self._loss(out.logits, batch["labels"]), _answers(batch), batch["informative"])

    def _observe_train(self, train: Batch) -> tuple[Output, Tensor, Tensor]:
        """Forward pass over the training sets, cross-entropy of each answer, and its gradient on the attention logits."""
        examples, length = train["informative"].shape[1:]
        heads = getattr(self.config.model, "heads", 1)
        offset = torch.zeros(self.lanes, examples, heads, length, device=self.device, requires_grad=True)

        def observe(weights: dict[str, Tensor], batch: Batch, offset: Tensor) -> tuple[Output, Tensor]:
            out = self._forward(weights, batch, offset=offset, detail=True)
            answers = out.logits if out.logits.ndim == 2 else out.logits[:, -1]
            return out, _cross_entropy(answers, _answers(batch))

        weights = {name: w.detach() for name, w in self.weights.items()}
        out, cross_entropy = vmap(observe)(weights, train, offset)
        gradient = torch.zeros_like(offset)
        if cross_entropy.requires_grad:  # not so when attention is frozen
            (gradient,) = torch.autograd.grad(cross_entropy.sum(), offset)
        return Output(*(t.detach() for t in out if t is not None)), cross_entropy.detach(), gradient

    def _planned(self, batch: Batch) -> Batch:
        return with_plan(batch, self.shape.vocabulary, max(self.shape.length, self.shape.test_length))

    # ── precision ────────────────────────────────────────────────────────────────────────────────────────────

    def _precision(self) -> AbstractContextManager[Any]:
        return _MatmulPrecision(self.config.precision)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.config.precision != "bf16":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


class _MatmulPrecision:
    """Allow TF32 matrix products inside, and restore what was there outside."""

    def __init__(self, precision: str):
        self.wanted = "highest" if precision == "float32" else "high"

    def __enter__(self) -> None:
        self.before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(self.wanted)

    def __exit__(self, *_: object) -> None:
        torch.set_float32_matmul_precision(self.before)


def _answers(batch: Batch) -> Tensor:
    """The label of the answer, for next-token labels too."""
    return batch["labels"] if batch["labels"].ndim == 1 else batch["labels"][:, -1]


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    each: Tensor = losses.get("cross_entropy")(logits.float(), labels)
    return each


def _hyper(config: RunConfig) -> dict[str, float]:
    values = {f"{room}.{name}": v for room in _ROOMS for name, v in getattr(config, room).lane_values().items()}
    return values | {"epochs": float(config.epochs)}


def _init_stream(config: RunConfig) -> torch.Generator:
    from ..randomness import stream

    return stream(config.seed, "weights")
