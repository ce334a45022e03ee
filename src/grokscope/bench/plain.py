"""The plain training loop that the fleet is compared with: eager PyTorch, one run, every position computed."""

from __future__ import annotations

import math
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
    """The default transformer as in a simple script: nothing is shared between examples."""

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


class PlainLoop:
    """Trains one run with a plain loop."""

    def __init__(self, config: RunConfig, device: torch.device):
        _check(config)
        split = config.task.split(config.seed_for("data"))
        self.train, self.test = ([side.inputs.to(device), side.labels.to(device)] for side in split)
        self.target = oracle_target(split.train.marked.to(device))
        self.model = PlainTransformer(config).to(device)
        own = config.optim
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=own.lr, weight_decay=own.weight_decay)
        self.clip, self.beta = own.clip, config.prior.beta

    def step(self) -> None:
        logits, log_attention = self.model(self.train[0])
        prior = F.kl_div(log_attention, self.target, reduction="batchmean")
        loss = F.cross_entropy(logits, self.train[1]) + self.beta * prior
        self.optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optim.step()

    @torch.no_grad()
    def evaluate(self) -> None:
        """Loss and accuracy on the test set."""
        answers = self.model(self.test[0])[0]
        F.cross_entropy(answers, self.test[1]).item()
        (answers.argmax(-1) == self.test[1]).float().mean().item()


def _check(config: RunConfig) -> None:
    """Raise ConfigError if the plain loop would not train the same run as the fleet."""
    model = config.model
    if not isinstance(model, Transformer) or model != Transformer(d=model.d, d_mlp=model.d_mlp):
        raise ConfigError("model", "bench times the default transformer; only model.d and model.d_mlp can be changed")
    if not isinstance(config.optim, AdamW) or config.batch_size or config.task.shape.every_position:
        raise ConfigError("bench", "only full-batch AdamW on a task that is answered at the last position can be timed")
