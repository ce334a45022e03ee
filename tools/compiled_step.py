"""Whether `torch.compile` of the stacked loss and its gradients would pay: python -m tools.compiled_step

The task loss of one run under vmap, and its gradients, as they are and compiled, for networks without fused kernels. Both are
timed in turns, since a shared machine is not quiet, and the fastest turn of each counts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.utils import counters
from torch.func import vmap

from grokscope.config import RunConfig, nested
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.ops.devices import resolve_device

SMALL = {"task.p": "59", "task.distractors": "0"}
NETWORKS = {
    "two layers": {"model.layers": "2", "model.heads": "4", "model.scope": "causal", "batch_size": "512"},
    "tickets-transformer": {"model": "tickets-transformer"},
    "embedding-mlp": {"model": "embedding-mlp"},
    "onehot-mlp": {"model": "onehot-mlp"},
    "loss mse": {"loss": "mse"},
}
LANES, TURNS, STEPS = 4, 10, 3


def compared(settings: dict[str, Any], device: str = "auto") -> str:
    """Milliseconds of loss and gradients of all lanes, as they are and compiled, or why they cannot be compiled, in a line."""
    config = RunConfig.from_dict(nested(SMALL | settings)).check()
    place = resolve_device(device)
    program = Program(config, LANES, place, fuse=False)
    for lane in range(LANES):
        program.load(lane, config, lane_data(config))
    batch, objective = program._batch(), program.objective
    weights = list(program.weights.values())

    def of_one(weights: dict[str, torch.Tensor], batch: Any) -> torch.Tensor:
        # without prior and penalties: they copy settings, which the compiler cannot follow
        return objective.example_losses(objective.forward(weights, batch, training=True), batch).mean()

    def losses() -> torch.Tensor:
        found: torch.Tensor = vmap(of_one)(program.weights, batch)
        return found

    def gradients(of: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(of().sum(), weights, allow_unused=True, materialize_grads=True)

    def seconds(of: Callable[[], torch.Tensor]) -> float:
        begin = time.perf_counter()
        for _ in range(STEPS):
            gradients(of)
        if place.type == "cuda":
            torch.cuda.synchronize(place)
        return (time.perf_counter() - begin) / STEPS

    torch.compiler.reset()
    counters.clear()
    compiled = torch.compile(losses)
    begin = time.perf_counter()
    try:
        found = gradients(compiled)
    except Exception as error:  # whatever the compiler does not know
        return f"cannot be compiled: {' '.join(str(error).split())[:160]}"
    compiling = time.perf_counter() - begin
    for own, other in zip(found, gradients(losses), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-3, atol=1e-5)
    turns = [(seconds(losses), seconds(compiled)) for _ in range(TURNS)]
    plain, fast = (1000 * min(own) for own in zip(*turns, strict=True))
    breaks = sum(counters["graph_break"].values())
    return (
        f"{plain:.1f} ms, compiled {fast:.1f} ms: {plain / fast:.2f} × as fast; compiling took {compiling:.0f} s, "
        f"with {breaks} graph breaks"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, settings in NETWORKS.items():
        print(f"{name}, {LANES} lanes: {compared(settings)}", flush=True)
