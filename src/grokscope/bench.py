"""How fast the fleet is, beside a plain training loop timed in the same run on the same device.

A run-step is one optimizer step of one run. Both sides train the paper's default (or what is asked for) and measure at the
default interval: the plain loop its losses and accuracies, the fleet all of its diagnostics.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .fleet.data import lane_data
from .fleet.program import Program
from .theory import divergence, oracle_target
from .training import device_name

if TYPE_CHECKING:
    from .config import RunConfig


class PlainTransformer(nn.Module):
    """The default transformer as a script would have it: every position computed, nothing shared between examples."""

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
    split = config.task.split(config.seed)
    train, test = ([side.inputs.to(device), side.labels.to(device)] for side in split)
    target = oracle_target(split.train.marked.to(device))
    model = PlainTransformer(config).to(device)
    optim = torch.optim.AdamW(model.parameters(), lr=config.optim.lr, weight_decay=config.optim.weight_decay)

    def run(epochs: int) -> None:
        for epoch in range(epochs):
            logits, log_attention = model(train[0])
            loss = F.cross_entropy(logits, train[1]) + config.prior.beta * divergence(target, log_attention).mean()
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


class FleetLoop:
    """The same for the fleet's program: `lanes` seeds at once, diagnostics included."""

    def __init__(self, config: RunConfig, lanes: int, device: torch.device):
        configs = [replace(config, seed=seed) for seed in range(min(lanes, 8))]
        data = [
            lane_data(c) for c in configs
        ]  # speed does not depend on what the data says: a few seeds serve many lanes
        self.every = config.log.every
        self.program = Program(config, lanes, device)
        for lane in range(lanes):
            self.program.load(lane, configs[lane % len(configs)], data[lane % len(configs)])
        self.seconds = [0.0, 0.0]
        """Spent on steps and on evaluations."""

    def __call__(self, epochs: int) -> None:
        for begin in range(0, epochs, self.every):
            start = time.perf_counter()
            for _ in range(min(self.every, epochs - begin)):
                self.program.train_epoch()
            self.program.finish()
            middle = time.perf_counter()
            self.program.evaluate()
            self.seconds[0] += middle - start
            self.seconds[1] += time.perf_counter() - middle


def epochs_per_second(run: Callable[[int], None], every: int, seconds: float, device: torch.device) -> float:
    """Whole evaluation intervals, after one to warm up, for about `seconds`."""
    run(every)
    done, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds or not done:
        run(every)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        done += every
    elapsed = time.perf_counter() - begin
    return done / elapsed


def bench(
    config: RunConfig,
    lanes: Iterable[int],
    device: torch.device,
    seconds: float = 5.0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The plain loop and the fleet at several lane counts, one after another in one process.

    `diagnostics` is the share of the fleet's time that goes into evaluations at the default interval.
    """
    every = config.log.every
    tell("plain loop")
    plain = epochs_per_second(plain_loop(config, device), every, seconds, device)
    fleet: list[dict[str, Any]] = []
    for count in lanes:
        tell(f"{count} lanes")
        row: dict[str, Any] = {"lanes": count, "run_steps_per_s": None, "ratio": None, "diagnostics": None}
        fleet.append(row)
        try:
            loop = FleetLoop(config, count, device)
            loop(every)  # warm up, and forget what that cost
            loop.seconds = [0.0, 0.0]
            rate = count * epochs_per_second(loop, every, seconds, device)
        except torch.OutOfMemoryError:
            continue
        share = loop.seconds[1] / sum(loop.seconds)
        row |= {"run_steps_per_s": round(rate, 2), "ratio": round(rate / plain, 2), "diagnostics": round(share, 3)}
    threads = "" if device.type == "cuda" else f", {torch.get_num_threads()} threads"
    return {
        "device": device_name(device) + threads,
        "precision": config.precision,
        "plain_run_steps_per_s": round(plain, 2),
        "fleet": fleet,
    }
