"""What a step and an evaluation are for ONE run: pure functions of its weights, state, data and numbers.

Nothing here knows of lanes; `program.py` adds the run axis by vmap. `hyper` holds the run's own numbers as scalar tensors,
named as in its config ("optim.lr"), so that runs with other numbers can share one program.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ..measures import measures
from ..measures.base import Side, Starvation, View
from ..models import Output
from ..ops.lookup import Plan
from ..optim import losses
from ..optim.adamw import AdamW
from ..optim.base import clip_scale
from ..optim.filters import NoFilter
from ..priors.base import Key
from ..tickets.base import Ticket
from .layout import Layout

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from .data import Batch

Weights = dict[str, "Tensor"]
Hyper = dict[str, "Tensor"]
State = dict[str, dict[str, "Tensor"]]
"""Per room (optim, filter), by name; a rule that works weight by weight has names such as mean/W_Q."""

_COMPONENTS = ("optim", "filter", "prior", "constraint")
"""Rooms whose numbers may differ between runs of one program."""


def hyper_of(config: RunConfig) -> dict[str, float]:
    """The numbers that are a run's own."""
    values = {f"{room}.{name}": v for room in _COMPONENTS for name, v in getattr(config, room).lane_values().items()}
    return values | {"epochs": float(config.epochs)}


class OneRun:
    """The rules of a run, apart from its own numbers and data."""

    def __init__(self, config: RunConfig, fast: bool = True):
        """fast   let models that can do so grade themselves; False computes every loss from logits"""
        self.config = config
        self.shape = config.task.shape
        self.parameters = config.model.parameters(self.shape)
        self.layout = Layout(config.ticket.with_scores(self.parameters))
        self.rates = config.ticket.rates(self.layout.parameters)
        self.task_loss = losses.get(config.loss)
        self.is_plain_adamw = (
            type(config.optim) is AdamW  # others build on it
            and isinstance(config.filter, NoFilter)
            and self.rates is None
            and not config.constraint.norm
        )
        self.as_stored = type(config.ticket).effective is Ticket.effective
        """Whether the model computes with the weights as they are."""
        self.fast = fast and config.loss == "cross_entropy" and not self.shape.every_position

    # ── training ─────────────────────────────────────────────────────────────────────────────────────────────

    def scheduled(self, hyper: Hyper, step: Tensor) -> tuple[Tensor, Tensor]:
        """The learning rate η and the prior's strength β at a step."""
        per_epoch = self.config.steps_per_epoch
        rate = self._room("optim", hyper).rate((step + 1) / per_epoch, hyper["epochs"])
        return rate, self._room("prior", hyper).weight(step / per_epoch)

    def loss(self, weights: Weights, hyper: Hyper, batch: Batch, beta: Tensor, step: Tensor, seed: Tensor) -> Tensor:
        """Task loss + prior + penalties."""
        weights = self.config.ticket.effective(weights)
        if self.fused(batch):
            task, out = self.fused_loss(weights, batch)
        else:
            out = self.forward(weights, batch)
            task = self.example_losses(out, batch).mean()
        return task + self.penalties(weights, hyper, fields_of(out), batch.get("target"), beta, step, seed)

    def fused_loss(self, weights: Weights, batch: Batch) -> tuple[Tensor, Output]:
        """Task loss and output of a model that grades itself; of one run, or of each of stacked runs."""
        with self._autocast(batch):
            return self.config.model.fused_loss(weights, _plan(batch), batch["labels"], frozen=batch.get("frozen"))

    def penalties(
        self,
        weights: Weights,
        hyper: Hyper,
        seen: dict[str, Tensor],
        target: Tensor | None,
        beta: Tensor,
        step: Tensor,
        seed: Tensor,
    ) -> Tensor:
        """What is added to the task loss; `seen` are the fields of the output by name. It reads no other numbers of `hyper` than
        `for_penalties` names."""
        total = torch.zeros_like(beta)
        if target is not None:
            total = beta * self._room("prior", hyper).penalty(Output(**seen), target, Key(seed, step))
        if self.config.constraint.qk_penalty:
            total = total + self._room("constraint", hyper).penalty(weights)
        return total

    @staticmethod
    def for_penalties(hyper: Hyper) -> Hyper:
        """The numbers that penalties read: a CPU feels every tensor that goes through vmap."""
        return {name: number for name, number in hyper.items() if name.startswith(("prior.", "constraint."))}

    def update(
        self, flat: Tensor, grad: Tensor, state: State, hyper: Hyper, lr: Tensor, step: Tensor
    ) -> tuple[Tensor, State]:
        """Filter, clip, step, project."""
        optim, filter = self._room("optim", hyper), self._room("filter", hyper)
        now = step + 1
        grad, filter_state = self._each(
            filter.elementwise, flat, grad, state["filter"], lambda w, g, s, role: filter.apply(w, g, s, step=now)
        )
        if self.rates is not None:
            own_lr, decays = self._parameter_rates(flat)
            grad = grad * (own_lr != 0)
            lr = torch.where(own_lr.isnan(), lr, own_lr)
            optim = dataclasses.replace(optim, weight_decay=optim.weight_decay * decays)
        grad = grad * clip_scale(grad.norm(), optim.clip)

        def rule(w: Tensor, g: Tensor, s: dict[str, Tensor], role: Any) -> tuple[Tensor, dict[str, Tensor]]:
            return optim.update(w, g, s, role=role, step=now, lr=lr)

        flat, optim_state = self._each(optim.elementwise, flat, grad, state["optim"], rule)
        if self.config.constraint.norm:
            constraint = self._room("constraint", hyper)
            flat = self.layout.join(constraint.project(self.layout.cut(flat), self.layout.parameters))
        return flat, {"optim": optim_state, "filter": filter_state}

    def masked_update(
        self, flat: Tensor, grad: Tensor, state: State, hyper: Hyper, lr: Tensor, step: Tensor, mask: Tensor
    ) -> tuple[Tensor, State]:
        """A pruned weight has no gradient and stays exactly zero."""
        flat, state = self.update(flat, grad * mask, state, hyper, lr, step)
        return flat * mask, state

    def _parameter_rates(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Learning rate (NaN: the optimizer's own) and decay (1 or 0) of every weight in the vector."""
        assert self.rates is not None
        every = [(self.layout.parameters[name].shape, rates) for name, rates in self.rates.items()]
        lr = [torch.full((math.prod(s),), math.nan if p.lr is None else p.lr, device=flat.device) for s, p in every]
        decays = [torch.full((math.prod(s),), float(p.decays), device=flat.device) for s, p in every]
        return torch.cat(lr), torch.cat(decays)

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

    # ── measuring ────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self, weights: Weights, batch: Batch, offset: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """A forward pass with all details (the output's fields by name), and the cross-entropy of each answer
        (nothing for a model without attention: it is what starves attention).

        offset   added to the attention logits
        """
        weights = self.config.ticket.effective(weights)
        if not self.config.model.has_attention:
            return {"logits": self.forward(weights, batch).logits}, offset.sum()
        out = self._answered(weights, batch, offset=offset, detail=True)
        if out.loss is not None:
            return fields_of(out), out.loss
        return fields_of(out), losses.get("cross_entropy")(_answers(out).float(), _answer_labels(batch))

    def measure(
        self,
        weights: Weights,
        hyper: Hyper,
        seen: dict[str, Tensor],
        cross_entropy: Tensor,
        gradient: Tensor,
        train: Batch,
        test: Batch,
        step: Tensor,
        seed: Tensor,
    ) -> dict[str, Tensor]:
        """Every registered measure; `seen`, `cross_entropy` and `gradient` are what `observe` saw of the training set."""
        out = Output(**seen)
        weights = self.config.ticket.effective(weights)
        model, starvation = self.config.model, None
        if model.has_attention:
            plan = _plan(train)
            starvation = Starvation(
                cross_entropy=cross_entropy,
                logit_gradient=gradient,
                lipschitz=model.local_lipschitz(weights, out),
                interaction_gradient=model.interaction_gradient(weights, plan, out, gradient / gradient.shape[0]),
                embedding_norm=model.embedding_norm(weights, plan, out),
            )
        view = View(
            model=model,
            parameters=self.parameters,
            weights=weights,
            train=self._side(weights, out, train),
            test=self._side(weights, self._answered(weights, test), test),
            prior_loss=self._prior_loss(hyper, out, train, step, seed),
            starvation=starvation,
        )
        return {name: value.float() for measure in measures.entries().values() for name, value in measure(view).items()}

    # ── both ─────────────────────────────────────────────────────────────────────────────────────────────────

    def forward(self, weights: Weights, batch: Batch, **how: Any) -> Output:
        inputs = batch["vectors"] if self.shape.features else _plan(batch)
        model = self.config.model
        with self._autocast(batch):
            if not model.has_attention:
                return model.forward(weights, inputs)
            return model.forward(
                weights, inputs, frozen=batch.get("frozen"), every_position=self.shape.every_position, **how
            )

    def _autocast(self, batch: Batch) -> AbstractContextManager[Any]:
        """Products of the network in bf16, if the run wants so; what is measured is the network as it is trained."""
        bf16 = self.config.precision == "bf16"
        return torch.autocast(batch["labels"].device.type, dtype=torch.bfloat16) if bf16 else nullcontext()

    def example_losses(self, out: Output, batch: Batch) -> Tensor:
        """The loss of each example; a next-token loss is averaged over positions."""
        labels = batch["labels"]
        each = self.task_loss(out.logits.float().flatten(0, -2), labels.flatten())
        return each.view(labels.shape).mean(1) if labels.ndim > 1 else each

    def _side(self, weights: Weights, out: Output, batch: Batch) -> Side:
        informative = batch.get("informative")
        if out.loss is not None and out.right is not None:
            return Side(
                out, out.loss, out.right.mean(), informative, lambda: _answers(self.forward(weights, batch)).float()
            )
        answers = _answers(out).float()
        return Side(out, self.example_losses(out, batch), _accuracy(answers, batch), informative, lambda: answers)

    def fused(self, batch: Batch) -> bool:
        """Whether the model grades its own answers."""
        device, classes = batch["labels"].device, self.shape.classes
        return self.fast and self.config.model.supports_fused_loss(device, self.config.precision, classes)

    def _answered(self, weights: Weights, batch: Batch, **how: Any) -> Output:
        """A forward pass, graded by the model if it does so."""
        if not self.fused(batch):
            return self.forward(weights, batch, **how)
        with self._autocast(batch):
            return self.config.model.fused_eval(
                weights, _plan(batch), batch["labels"], frozen=batch.get("frozen"), **how
            )

    def _prior_loss(self, hyper: Hyper, out: Output, batch: Batch, step: Tensor, seed: Tensor) -> Tensor:
        if "target" not in batch:
            return torch.zeros((), device=out.logits.device)
        _, beta = self.scheduled(hyper, step)
        loss: Tensor = beta * self._room("prior", hyper).penalty(out, batch["target"], Key(seed, step))
        return loss

    def _room(self, room: str, hyper: Hyper) -> Any:
        """A room of the config with the run's own numbers in its fields."""
        own = {key.removeprefix(f"{room}."): value for key, value in hyper.items() if key.startswith(f"{room}.")}
        return dataclasses.replace(getattr(self.config, room), **own)


def _plan(batch: Batch) -> Plan:
    return Plan(batch["row"], batch["order"], batch["starts"])


def fields_of(out: Output) -> dict[str, Tensor]:
    """The fields that the output has."""
    return {name: tensor for name, tensor in out._asdict().items() if tensor is not None}


def _answers(out: Output) -> Tensor:
    """Logits at the query."""
    return out.logits if out.logits.ndim == 2 else out.logits[:, -1]


def _accuracy(answers: Tensor, batch: Batch) -> Tensor:
    labels = _answer_labels(batch)
    if not labels.is_floating_point():
        return (answers.argmax(-1) == labels).to(torch.float32).mean()
    unexplained = (answers.squeeze(-1) - labels).square().mean()
    return torch.clamp(1 - unexplained / (labels - labels.mean()).square().mean(), min=0.0)


def _answer_labels(batch: Batch) -> Tensor:
    """One label an example, for next-token labels too."""
    labels = batch["labels"]
    return labels if labels.ndim == 1 else labels[:, -1]
