"""How many workers and lanes are chosen: by cores, free memory, the runs' shapes, and who else is on the device."""

import math
from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.launch.plan import MANY, fitting_lanes, lane_bytes, plan_workers
from grokscope.models.mlp import MLP
from grokscope.models.transformer import Transformer
from grokscope.ops.memory import free_memory
from grokscope.optim.filters import filters
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.modular import Modular
from grokscope.tasks.polynomial import Polynomial

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
GB = 1 << 30


def test_a_lane_of_the_default_run():
    """By hand: 60,928 weights with two moments; 3,830 training and 8,939 test examples of five tokens.

    Widths (rows + columns): embedding 130 + 64, positions 5 + 64, three of 64 + 64, MLP 64 + 256 twice, answer 64 + 113.
    """
    weights = 4 * (10 + 2 * 2) * 60_928
    example = 4 * (194 + 69 + 3 * 128 + 2 * 320 + 177 + 3 * 113)
    data = (3830 + 8939) * (8 * 15 + 16)
    assert lane_bytes(RunConfig()) == weights + 2 * 3830 * example + 8939 * example + data


def test_what_makes_a_lane_larger():
    base = RunConfig()
    assert lane_bytes(replace(base, batch_size=100)) < lane_bytes(base)
    assert lane_bytes(replace(base, model=Transformer(scope="causal"))) > 4 * lane_bytes(base)
    window = filters.get("grokfast-ma")()
    more = lane_bytes(replace(base, filter=window)) - lane_bytes(base)
    assert more == 4 * 2 * window.window * 60_928


@pytest.mark.parametrize(
    ("free", "runs", "workers", "expected"),
    [(1000 * GB, 512, 1, 512), (1000 * GB, 1000, 1, 500), (1000 * GB, 40, 3, 20), (1000 * GB, 5, 3, 16), (0, 5, 1, 1)],
)
def test_lanes(free, runs, workers, expected):
    assert fitting_lanes(RunConfig(), runs, free, workers) == expected


@pytest.mark.parametrize(("cores", "runs", "workers"), [(1, 5, 1), (2, 1, 1), (2, 2, 2), (2, 40, 2), (16, 5, 3)])
def test_a_cpu_has_as_many_workers_as_arithmetic_hides_the_python_of(cores, runs, workers):
    assert plan_workers([RunConfig(seed=seed) for seed in range(runs)], CPU, cores) == workers


def test_small_runs_share_one_worker_unless_more_are_asked_for(tiny):
    runs = [replace(tiny, seed=seed) for seed in range(16)]
    assert plan_workers(runs, CPU, 4) == 1
    assert plan_workers(runs, CPU, 4, lanes=7) == 7
    assert plan_workers(runs[:3], CPU, 4, lanes=7) == 3


def test_dense_runs_hide_python_sooner():
    """PyTorch runs most of an ordinary pass over the examples; positions that are computed separately count."""
    small = RunConfig(task=Polynomial(), model=MLP(), loss="mse")
    assert plan_workers([small] * 4, CPU, 2) == 2
    words = RunConfig(task=AutoregressiveParity(), model=Transformer(scope="causal"))
    assert plan_workers([words] * 4, CPU, 4) == 4


def test_a_gpu_has_a_worker_for_each_signature_up_to_four(tiny):
    shapes = [replace(tiny, task=Modular(p=p)) for p in (5, 7, 11, 13, 17, 19)]
    assert plan_workers([tiny, replace(tiny, seed=1)], CUDA, 16) == 1
    assert plan_workers(shapes[:3], CUDA, 16) == 3
    assert plan_workers(shapes, CUDA, 16) == 4


def test_many_runs_of_one_signature_have_two_fleets_on_a_gpu(tiny):
    runs = [replace(tiny, seed=seed) for seed in range(MANY)]
    assert plan_workers(runs, CUDA, 16) == 2
    assert plan_workers(runs[1:], CUDA, 16) == plan_workers(runs, CUDA, 16, lanes=8) == 1


def test_lanes_go_by_free_memory_and_are_shared_between_workers():
    config = RunConfig(task=Modular(p=31))
    free = 100 * lane_bytes(config)
    assert fitting_lanes(config, 70, free, 1) == 70
    assert fitting_lanes(config, 70, free, 2) == 35


def test_lanes_that_are_filled_several_times_are_filled_evenly():
    config = RunConfig(task=Modular(p=31))
    free = math.ceil(365 * 2 / 0.7) * lane_bytes(config)  # 365 lanes for each of two fleets
    assert fitting_lanes(config, 730, free, 2) == 365
    assert fitting_lanes(config, 731, free, 2) == 183, "twice in each fleet"
    assert fitting_lanes(config, 2016, free, 2) == 336, "three times in each"


def test_this_machine_has_memory():
    assert free_memory(CPU) > 1 << 26
