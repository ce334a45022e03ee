"""Training with stochastic gates on positions: a plain loop around the model's forward pass, since gates are weights of their own.

A gate z_j ∈ [0, 1] multiplies the attention that position j gets: log z_j is added to its logit, and attention is normalised again.
The loss is CE + λ · (expected number of open gates). The network is trained with the run's optimizer settings (AdamW, warm-up,
clipping); gates have no weight decay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from ...errors import ConfigError
from ...fleet.data import batch_of, known_examples, with_plan
from ...fleet.forward import Forward
from ...fleet.start import initial_weights
from ...optim.adamw import AdamW
from ...randomness import stream
from ...thresholds import reaches
from .base import GENERALISED, Bout, Outcome

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ...fleet.data import Batch
    from ...tasks import Examples

CLOSED = 1e-6
"""Keeps log z finite."""

Draw = Callable[["Tensor", int, "Generator"], "Tensor"]
"""Gates [example gate] drawn from their parameters [gate], for so many examples."""


def train_gated(
    name: str,
    bout: Bout,
    *,
    start: float,
    draw: Draw,
    middle: Callable[[Tensor], Tensor],
    open_gates: Callable[[Tensor], Tensor],
    strength: float,
    rate: float,
) -> Outcome:
    """Train weights and gates until the budget is spent or validation accuracy has held as the stop rule asks.

    start        initial parameter of every gate
    draw         gates of a training step
    middle       gates of an evaluation
    open_gates   expected number of open gates
    strength     λ
    rate         learning rate of the gates
    """
    config, optim = bout.config, bout.config.optim
    if not isinstance(optim, AdamW) or config.batch_size or not config.task.shape.length:
        raise ConfigError("rivals", f"{name} needs optim adamw, full batches and sequences of tokens")
    split = config.task.split(config.seed_for("data"))
    train, validation, _ = known_examples(config, split.train)
    assert validation is not None
    sides = [_planned(bout, examples) for examples in (train, validation, split.test)]
    weights = {key: weight.requires_grad_() for key, weight in initial_weights(config).items()}
    gates = torch.full((config.task.shape.length - 1,), start, requires_grad=True)
    own = torch.optim.AdamW(
        weights.values(), lr=optim.lr, betas=(optim.beta1, optim.beta2), eps=optim.eps, weight_decay=optim.weight_decay
    )
    of_gates = torch.optim.Adam([gates], lr=rate)
    generator = stream(config.seed_for("order"), name)
    forward, heads = Forward(config), getattr(config.model, "heads", 1)

    def answers(batch: Batch, drawn: Tensor) -> Tensor:
        opened = torch.cat([drawn, torch.ones_like(drawn[:, :1])], 1).clamp_min(CLOSED).log()
        return forward(weights, batch, offset=opened.unsqueeze(1).expand(-1, heads, -1)).answers

    generalised, accuracy, held_since = None, 0.0, None
    for epoch in range(1, bout.epochs + 1):
        own.param_groups[0]["lr"] = optim.lr * min(1.0, epoch / max(optim.warmup, 1e-9))
        drawn = draw(gates, len(train.labels), generator)
        loss = cross_entropy(answers(sides[0], drawn), _labels(train)) + strength * open_gates(gates)
        own.zero_grad()
        of_gates.zero_grad()
        loss.backward()
        if optim.clip:
            torch.nn.utils.clip_grad_norm_(list(weights.values()), optim.clip)
        own.step()
        of_gates.step()
        if epoch % config.log.every and epoch < bout.epochs:
            continue
        with torch.no_grad():
            held_out, accuracy = (
                float(
                    (answers(side, middle(gates).expand(len(part.labels), -1)).argmax(-1) == _labels(part))
                    .float()
                    .mean()
                )
                for side, part in zip(sides[1:], (validation, split.test), strict=True)
            )
        if generalised is None and reaches(accuracy, GENERALISED):
            generalised = epoch
        held_since = (held_since or epoch) if reaches(held_out, config.stop.accuracy or GENERALISED) else None
        if config.stop.accuracy and held_since is not None and epoch - held_since >= config.stop.required(held_since):
            break
    chosen = middle(gates.detach())
    support = (
        chosen.topk(min(bout.k, len(chosen))).indices if bout.k is not None else (chosen > 0.5).nonzero().flatten()
    )
    named = tuple(sorted(support.tolist()))
    return Outcome(name, named or None, epoch, generalised, accuracy, f"λ = {strength:g}")


def _planned(bout: Bout, examples: Examples) -> Batch:
    shape = bout.config.task.shape
    return with_plan(batch_of(bout.config, examples), shape.vocabulary, max(shape.length, shape.test_length))


def _labels(examples: Examples) -> Tensor:
    return examples.labels if examples.labels.ndim == 1 else examples.labels[:, -1]
