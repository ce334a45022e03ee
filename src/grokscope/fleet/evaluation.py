"""Evaluation of ONE run: a view of it as plain data, and every registered measure of that view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..errors import ConfigError
from ..measures import measures
from ..measures.base import Side, Starvation, View
from ..measures.fit import fit
from ..models import Output
from ..ops.team import each_block
from ..optim.losses import cross_entropy
from ..randomness import Key
from ..theory.contracts import values_unread
from .division import divided
from .objective import Hyper, Objective, with_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from .data import Batch
    from .forward import Weights


class Evaluation:
    """Pure functions of the weights, data and hyperparameters of one run."""

    def __init__(self, objective: Objective, in_blocks: bool = False):
        """in_blocks   compute blocks of examples, which idle cores share"""
        self.objective = objective
        self.in_blocks = in_blocks
        self.config = objective.config
        self.parameters = self.config.model.parameters(objective.shape)

    def observe(self, weights: Weights, batch: Batch, offset: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """A forward pass with all details (fields of the output by name), and the cross-entropy of each answer, whose gradient
        with respect to the attention logits is the remaining training signal of attention; 0 for a model without attention.

        offset   added to the attention logits
        """
        weights = self.config.ticket.effective(weights)
        if not self.config.model.has_attention:
            return self._answered(weights, batch).tensors(), offset.sum()
        out = self._answered(weights, batch, offset=offset, detail=True)
        return out.tensors(), out.loss if out.loss is not None else cross_entropy(out.answers, _labels(batch))

    def measure(
        self,
        weights: Weights,
        hyper: Hyper,
        seen: dict[str, Tensor],
        answer_loss: Tensor,
        gradient: Tensor,
        train: Batch,
        test: Batch,
        validation: Batch | None,
        step: Tensor,
        seed: Tensor,
    ) -> dict[str, Tensor]:
        """Every registered measure; `seen`, `answer_loss` and `gradient` come from `observe` on the training set.
        Columns are named measure/column."""
        view = self.view(weights, hyper, seen, answer_loss, gradient, train, test, validation, step, seed)
        found: dict[str, Tensor] = {}
        owner: dict[str, str] = {}
        for name, measure in measures.entries().items():
            for column, value in measure(view).items():
                if column in owner:
                    raise ConfigError("measure", f"{owner[column]} and {name} both return {column}; rename one of them")
                owner[column] = name
                found[f"{name}/{column}"] = value.float()
        return found

    def view(
        self,
        weights: Weights,
        hyper: Hyper,
        seen: dict[str, Tensor],
        answer_loss: Tensor,
        gradient: Tensor,
        train: Batch,
        test: Batch,
        validation: Batch | None,
        step: Tensor,
        seed: Tensor,
    ) -> View:
        weights = self.config.ticket.effective(weights)
        out = self.objective.completed(seen, weights, train)
        model = self.config.model
        return View(
            parameters=self.parameters,
            weights=weights,
            train=self._side(out, train),
            test=self._passed(weights, test),
            validation=None if validation is None else self._passed(weights, validation),
            prior_loss=self._prior_loss(hyper, out, train, step, seed),
            starvation=self._starvation(weights, out, train, answer_loss, gradient) if model.has_attention else None,
            neurons=model.neurons(weights),
            key=Key(seed, step),
        )

    def fit(
        self,
        weights: Weights,
        hyper: Hyper,
        train: Batch,
        test: Batch,
        validation: Batch | None,
        step: Tensor,
        seed: Tensor,
    ) -> dict[str, Tensor]:
        """The measure of the fit alone: forward passes, without the details of attention."""
        weights = self.config.ticket.effective(weights)
        own = self._passed(weights, train)
        view = View(
            parameters=self.parameters,
            weights=weights,
            train=own,
            test=self._passed(weights, test),
            validation=None if validation is None else self._passed(weights, validation),
            prior_loss=self._prior_loss(hyper, own.out, train, step, seed),
        )
        return {f"fit/{column}": value.float() for column, value in fit(view).items()}

    def _passed(self, weights: Weights, batch: Batch) -> Side:
        """A forward pass, without the details of attention."""
        return self._side(self.objective.completed(self._answered(weights, batch).tensors(), weights, batch), batch)

    def _starvation(
        self, weights: Weights, out: Output, train: Batch, answer_loss: Tensor, gradient: Tensor
    ) -> Starvation:
        model, plan = self.config.model, self.objective.forward.inputs(train)
        return Starvation(
            cross_entropy=answer_loss,
            logit_gradient=gradient,
            lipschitz=model.local_lipschitz(weights, out),
            value_norm=model.value_norm(weights),
            sensitivity=model.sensitivity(out),
            interaction_gradient=model.interaction_gradient(weights, plan, out, gradient / gradient.shape[0]),
            embedding_norm=model.embedding_norm(weights, plan, out),
        )

    def _side(self, out: Output, batch: Batch) -> Side:
        if out.loss is not None and out.correct is not None:
            loss, accuracy = out.loss, out.correct.mean()
        else:
            loss, accuracy = self.objective.example_losses(out, batch), _accuracy(out.answers, _labels(batch))
        return Side(out, loss, accuracy, _labels(batch), batch.get("informative"))

    def _answered(self, weights: Weights, batch: Batch, **how: Any) -> Output:
        """A forward pass, with the loss of each answer if the evaluation is fused."""
        forward = self.objective.forward
        if self.in_blocks and not how:
            return self._answered_in_blocks(weights, batch)
        if not self.objective.fused:
            return forward(weights, batch, **how)
        with forward.autocast(batch):
            return self.config.model.fused_eval(
                weights,
                forward.inputs(batch),
                batch["labels"],
                frozen=batch.get("frozen"),
                reads=forward.reads(batch),
                **how,
            )

    def _answered_in_blocks(self, weights: Weights, batch: Batch) -> Output:
        blocks = divided(batch, self.config)
        found: list[dict[str, Tensor]] = [{}] * len(blocks)

        @torch.no_grad()
        def work(block: int) -> None:
            with values_unread():
                found[block] = self.objective.forward(weights, blocks[block]).tensors()

        each_block(work, len(blocks))
        return Output(**{name: torch.cat([own[name] for own in found]) for name in found[0]})

    def _prior_loss(self, hyper: Hyper, out: Output, batch: Batch, step: Tensor, seed: Tensor) -> Tensor:
        if "target" not in batch:
            return torch.zeros_like(hyper["epochs"])
        beta = self.objective.scheduled(hyper, step).prior
        penalty: Tensor = with_numbers(self.config, "prior", hyper).penalty(out, batch["target"], Key(seed, step))
        return beta * penalty


def _accuracy(answers: Tensor, labels: Tensor) -> Tensor:
    if not labels.is_floating_point():
        return (answers.argmax(-1) == labels).to(torch.float32).mean()
    unexplained = (answers.squeeze(-1) - labels).square().mean()
    return torch.clamp(1 - unexplained / (labels - labels.mean()).square().mean(), min=0.0)


def _labels(batch: Batch) -> Tensor:
    """One label per example, for next-token labels too."""
    labels = batch["labels"]
    return labels if labels.ndim == 1 else labels[:, -1]
