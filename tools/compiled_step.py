"""Whether `torch.compile` of the stacked loss and its gradients would pay: python -m tools.compiled_step [NETWORK …]

The task loss of one run under vmap, and its gradients, as they are and compiled, for networks without fused kernels. Both are
timed in turns, since a shared machine is not quiet, and the fastest turn of each counts. On a GPU both are recorded as CUDA graphs,
as a step of training is, so that launches do not count, and what is compiled has PyTorch's operations in place of our kernels: at
those the compiler would break the graph.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
from torch._dynamo.utils import counters
from torch.func import vmap

from grokscope.config import RunConfig, nested
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.ops.devices import resolve_device
from grokscope.ops.graph import captured

SMALL = {"task.p": "59", "task.distractors": "0"}
NETWORKS = {
    "two layers": {"model.layers": "2", "model.heads": "4", "model.scope": "causal", "batch_size": "512"},
    "tickets-transformer": {"model": "tickets-transformer"},
    "embedding-mlp": {"model": "embedding-mlp"},
    "onehot-mlp": {"model": "onehot-mlp"},
    "loss mse": {"loss": "mse"},
}
LANES = {"cpu": 4, "cuda": 64}
TURNS, STEPS = 10, 3
Gradients = Callable[[], tuple[torch.Tensor, ...]]


def compared(settings: dict[str, Any], device: str = "auto") -> str:
    """Milliseconds of loss and gradients of all lanes, as they are and compiled, or why they cannot be compiled, in a line."""
    place = resolve_device(device)
    on_gpu = place.type == "cuda"
    precision = "tf32" if on_gpu else "float32"
    config = RunConfig.from_dict(nested(SMALL | {"precision": precision} | settings)).check()
    lanes = LANES[place.type]
    program = Program(config, lanes, place, fuse=False)
    for lane in range(lanes):
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

    def seconds(of: Gradients) -> float:
        begin = time.perf_counter()
        for _ in range(STEPS):
            of()
        if on_gpu:
            torch.cuda.synchronize(place)
        return (time.perf_counter() - begin) / STEPS

    def ready(of: Callable[[], torch.Tensor]) -> Gradients:
        """Loss and gradients as they are timed."""
        return captured(lambda: gradients(of), lambda: [], precision) if on_gpu else lambda: gradients(of)

    torch.compiler.reset()
    counters.clear()
    plain, compiled = ready(losses), ready(torch.compile(losses))
    begin = time.perf_counter()
    try:
        with without_kernels() if on_gpu else nullcontext():
            found = compiled()
    except Exception as error:  # whatever the compiler does not know
        return f"cannot be compiled: {' '.join(str(error).split())[:160]}"
    compiling = time.perf_counter() - begin
    for own, other in zip(found, plain(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-3, atol=1e-3 if on_gpu else 1e-5)
    turns = [(seconds(plain), seconds(compiled)) for _ in range(TURNS)]
    slow, fast = (1000 * min(own) for own in zip(*turns, strict=True))
    breaks = sum(counters["graph_break"].values())
    return (
        f"{lanes} lanes, {slow:.2f} ms, compiled {fast:.2f} ms: {slow / fast:.2f} × as fast; compiling took {compiling:.0f} s, "
        f"with {breaks} graph breaks"
    )


@contextmanager
def without_kernels() -> Iterator[None]:
    """Context in which no operation finds our kernels usable."""
    with ExitStack() as patched:
        for name, module in list(sys.modules.items()):
            if name.startswith("grokscope.") and hasattr(module, "usable_on"):
                patched.enter_context(mock.patch.object(module, "usable_on", lambda device: False))
        yield


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or NETWORKS:
        print(f"{name}: {compared(NETWORKS[name])}", flush=True)
