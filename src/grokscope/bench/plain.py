"""The plain training loop that the fleet is held against: eager PyTorch, one run, every position computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ConfigError
from ..models.transformer import Transformer
from ..optim.adamw import AdamW
from ..theory import oracle_target

if TYPE_CHECKING:
    from ..config import RunConfig


class PlainTransformer(nn.Module):
    """The default transformer as a script would have it: nothing shared between examples."""

    def __init__(self, config: RunConfig):
        super().__init__()
        shape, d, hidden = config.task.shape, config.model.d, config.model.d_mlp  # type: ignore[attr-defined]
        self.embed = nn.Embedding(shape.vocabulary, d)
        self.position = nn.Parameter(torch.randn(shape.length, d) / math.sqrt(d))
        self.query, self.key, self.value = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(d, hidden, bias=False), nn.ReLU(), nn.Linear(hidden, d, bias=False))
        self.unembed = nn.Linear(d, shape.classes, bias=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embed(tokens) + self.position
        logits = self.query(x) @ self.key(x).mT / math.sqrt(x.shape[-1])
        future = torch.ones(logits.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        log_attention = torch.log_softmax(logits.masked_fill(future, -1e9), -1)
        x = x + log_attention.exp() @ self.value(x)
        x = x + self.mlp(x)
        return self.unembed(x)[:, -1], log_attention[:, -1]


def plain_loop(config: RunConfig, device: torch.device) -> Callable[[int], None]:
    """A function that trains one run for some epochs in the ordinary way."""
    _check(config)
    split = config.task.split(config.seed)
    train, test = ([side.inputs.to(device), side.labels.to(device)] for side in split)
    target = oracle_target(split.train.marked.to(device))
    model = PlainTransformer(config).to(device)
    beta = config.prior.beta
    optim = torch.optim.AdamW(model.parameters(), lr=config.optim.lr, weight_decay=config.optim.weight_decay)

    def run(epochs: int) -> None:
        for epoch in range(epochs):
            logits, log_attention = model(train[0])
            loss = F.cross_entropy(logits, train[1]) + beta * F.kl_div(log_attention, target, reduction="batchmean")
            optim.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), config.optim.clip)
            optim.step()
            if epoch % config.log.every == 0:
                with torch.no_grad():
                    answers = model(test[0])[0]
                    F.cross_entropy(answers, test[1]).item()
                    (answers.argmax(-1) == test[1]).float().mean().item()

    return run


def _check(config: RunConfig) -> None:
    """Raise ConfigError where the plain loop would train something else than the fleet."""
    model = config.model
    if not isinstance(model, Transformer) or model != Transformer(d=model.d, d_mlp=model.d_mlp):
        raise ConfigError("model", "bench times the default transformer; only model.d and model.d_mlp can be changed")
    if not isinstance(config.optim, AdamW) or config.batch_size or config.task.shape.every_position:
        raise ConfigError("bench", "times full-batch AdamW on a task that is answered at the last position")
