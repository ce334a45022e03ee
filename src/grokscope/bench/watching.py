"""What `grokscope.watch` costs: steps of a 4-layer network with d = 256, alone and under a scope.

Alone, under a scope that makes a row every 25 steps, and with the prior as well, which needs attention at every step. In turn, and
the fastest block of each counts: other programs on the machine only ever slow a block down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..attach import Scope, watch

LAYERS, D, HEADS, LENGTH, BATCH, SYMBOLS, EVERY = 4, 256, 4, 64, 16, 64, 25
ROUNDS = 5


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(D), nn.LayerNorm(D)])
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


def overhead(rounds: int = ROUNDS, steps: int = EVERY) -> dict[str, float]:
    """Seconds per step alone, and the share by which a scope, and a scope with the prior, make it longer."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(SYMBOLS, D), *(Block() for _ in range(LAYERS)), nn.Linear(D, SYMBOLS))
    tokens = torch.randint(SYMBOLS, (BATCH, LENGTH))
    labels = torch.randint(SYMBOLS, (BATCH,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    informative = torch.arange(LENGTH) < 2

    def block(beta: float | None) -> float:
        with ExitStack() as stack:
            scope: Scope | None = None
            if beta is not None:
                scope = stack.enter_context(watch(model, informative=informative, every=EVERY))
            begin = time.perf_counter()
            for _ in range(steps):
                loss = F.cross_entropy(model(tokens)[:, -1], labels)
                if scope is not None and beta:
                    loss = loss + scope.prior(beta)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if scope is not None:
                    scope.step(loss)
            return (time.perf_counter() - begin) / steps

    return _compared(block, rounds)


def _compared(block: Callable[[float | None], float], rounds: int) -> dict[str, float]:
    kinds: tuple[float | None, ...] = (None, 0.0, 0.3)
    block(0.3)  # the first steps are slower
    times = [[block(beta) for beta in kinds] for _ in range(rounds)]
    alone, watched, guided = (min(column) for column in zip(*times, strict=True))
    return {"step_s": alone, "watch": watched / alone - 1, "prior": guided / alone - 1}
