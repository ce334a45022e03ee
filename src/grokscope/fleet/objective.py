"""The objective of ONE run: task loss + prior + penalties. Decides once per program whether the fused readout is used.

The fused path (`Model.fused_loss`, `Model.fused_eval`) replaces the model's own `forward`, so it is used only if `forward` is the
code it was written for: `overridden` detects changes by a subclass or a patch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..interventions import Now, Rates
from ..models import Output, overridden
from ..ops.blockwise import sum_over_blocks
from ..optim import losses
from ..optim.losses import cross_entropy
from ..randomness import Key
from ..theory.contracts import values_unread
from .forward import Forward, Weights

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from .data import Batch

Hyper = dict[str, "Tensor"]
"""Hyperparameters of a run as scalar tensors, named as in its config ("optim.lr"): runs that differ in them share a program."""

COMPONENTS = ("optim", "filter", "prior", "constraint", "noise", "do")
"""Components whose hyperparameters may differ between runs of one program."""


def hyper_of(config: RunConfig) -> dict[str, float]:
    """The hyperparameters of a run that may differ between lanes."""
    values = {f"{part}.{name}": v for part in COMPONENTS for name, v in getattr(config, part).lane_values().items()}
    symbols = getattr(config.task, "distractor_symbols", range(0))
    own = {"epochs": config.epochs, "symbols.first": symbols.start, "symbols.count": len(symbols), "branch.epoch": 0}
    return values | {name: float(value) for name, value in own.items()}


def with_numbers(config: RunConfig, part: str, hyper: Hyper) -> Any:
    """A component of the config with the run's hyperparameters in its fields."""
    own = {key.removeprefix(f"{part}."): value for key, value in hyper.items() if key.startswith(f"{part}.")}
    return getattr(config, part).with_values(own)


class Objective:
    """Pure functions of the weights, batch and hyperparameters of one run."""

    def __init__(self, config: RunConfig, device: torch.device, fuse: bool = True):
        """fuse   if False, every loss is computed from logits"""
        self.config = config
        self.shape = config.task.shape
        self.forward = Forward(config)
        self.task_loss = losses.get(config.loss)
        self.fused = fuse and self._can_fuse(device)

    def _can_fuse(self, device: torch.device) -> bool:
        model = self.config.model
        return (
            self.task_loss is cross_entropy
            and not self.shape.every_position
            and not self.config.do.clamps_at_times
            and not self.config.do.scales_task_loss  # its gradient is computed with the loss, for a factor of 1
            and model.supports_fused_loss(device, self.config.precision, self.shape.classes)
            and not overridden(model)
        )

    def has_penalty(self) -> bool:
        """Whether the model adds a penalty to the loss."""
        blank = {name: torch.zeros(()).expand(p.shape) for name, p in self.config.model.parameters(self.shape).items()}
        return self.config.model.penalty(blank) is not None

    def scheduled(self, hyper: Hyper, step: Tensor) -> Rates:
        """The learning rate η, the prior's strength β, weight decay and the factor of the task loss at a step."""
        per_epoch = self.config.steps_per_epoch
        rate = with_numbers(self.config, "optim", hyper).rate((step + 1) / per_epoch, hyper["epochs"])
        beta = with_numbers(self.config, "prior", hyper).weight(step / per_epoch)
        rates = Rates(rate, beta, hyper["optim.weight_decay"], torch.ones_like(rate))
        if "rates" not in self.config.do.hooks:
            return rates
        now = Now(step - (hyper["branch.epoch"] * per_epoch).to(step.dtype), per_epoch, Key(step, step))
        changed: Rates = with_numbers(self.config, "do", hyper).rates(rates, now)
        return changed

    def loss(
        self, weights: Weights, hyper: Hyper, batch: Batch, beta: Tensor, data: Tensor, step: Tensor, seed: Tensor
    ) -> Tensor:
        """Task loss + prior + penalties.

        data   factor of the task loss
        """
        key = Key(seed, step)
        weights, batch = self._noisy(self.config.ticket.effective(weights), hyper, batch, key)
        if self.fused:
            task, out = self.fused_loss(weights, batch, key)
        else:
            out = self.forward(weights, batch, training=True, key=key)
            task = self.example_losses(out, batch).mean()
        if self.config.do.scales_task_loss:
            task = data * task
        return task + self.penalties(weights, hyper, out.tensors(), batch, beta, step, seed)

    def loss_in_blocks(
        self, blocks: tuple[Batch, ...], weights: Weights, hyper: Hyper, beta: Tensor, step: Tensor, seed: Tensor
    ) -> Tensor:
        """`loss` of a batch that is given in blocks (`division.divided`)."""
        weights, _ = self._noisy(self.config.ticket.effective(weights), hyper, {}, Key(seed, step))

        examples = sum(len(block["labels"]) for block in blocks)

        def of_block(weights: Weights, block: Batch) -> Tensor:
            with values_unread():
                return self.example_losses(self.forward(weights, block, training=True), block).sum() / examples

        shared = self.forward.shared(weights, blocks[0], examples)
        task = sum_over_blocks(of_block, weights | shared, blocks)
        return task + self.penalties(weights, hyper, {}, {}, beta, step, seed)

    def _noisy(self, weights: Weights, hyper: Hyper, batch: Batch, key: Key) -> tuple[Weights, Batch]:
        """Weights and labels of this step."""
        if not self.config.noise.in_steps:
            return weights, batch
        noise = with_numbers(self.config, "noise", hyper)
        if self.config.noise.weights:
            weights = noise.weights_now(weights, key)
        if self.config.noise.labels and noise.redraw == "every-step":
            batch = batch | {"labels": noise.labels_now(batch["labels"], self.shape.classes, key)}
        return weights, batch

    def fused_loss(self, weights: Weights, batch: Batch, key: Key | None = None) -> tuple[Tensor, Output]:
        """Task loss and output of one run, or of each of stacked runs.

        key   source of randomness of one run; stacked runs use none
        """
        with self.forward.autocast(batch):
            return self.config.model.fused_loss(
                weights,
                self.forward.inputs(batch),
                batch["labels"],
                frozen=batch.get("frozen"),
                reads=self.forward.reads(batch),
                key=key,
            )

    def penalties(
        self,
        weights: Weights,
        hyper: Hyper,
        seen: dict[str, Tensor],
        batch: Batch,
        beta: Tensor,
        step: Tensor,
        seed: Tensor,
    ) -> Tensor:
        """Prior and penalties, which are added to the task loss; `seen` are the fields of the output by name."""
        total = torch.zeros_like(beta)
        if "target" in batch:
            out, key = self.completed(seen, weights, batch, Key(seed, step)), Key(seed, step)
            total = beta * with_numbers(self.config, "prior", hyper).penalty(out, batch["target"], key)
        if self.config.constraint.qk_penalty:
            total = total + with_numbers(self.config, "constraint", hyper).penalty(weights)
        own = self.config.model.penalty(weights)
        if own is not None:
            total = total + own
        return total

    def completed(self, seen: dict[str, Tensor], weights: Weights, batch: Batch, key: Key | None = None) -> Output:
        """The output with these fields. Logits that the fused path did not compute are computed on first access.

        key   of a training step; None when evaluating
        """
        if "logits" in seen:
            return Output(**seen)
        return Output(lambda: self.forward(weights, batch, training=key is not None, key=key).logits, **seen)

    def example_losses(self, out: Output, batch: Batch) -> Tensor:
        """The loss of each example; a next-token loss is averaged over positions."""
        labels = batch["labels"]
        each = self.task_loss(out.logits.float().flatten(0, -2), labels.flatten())
        return each.view(labels.shape).mean(1) if labels.ndim > 1 else each
