"""How many lanes are chosen: by free memory, a lane's shapes, and who else is on the device."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.launch import fit
from grokscope.launch.fit import fitting_lanes
from grokscope.models.transformer import Transformer
from grokscope.optim.filters import filters
from grokscope.tasks.modular import Modular

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
GB = 1 << 30


def test_a_lane_of_the_default_run():
    """By hand: 60,928 weights with two moments; 3,830 training and 8,939 test examples of five tokens.

    Widths (rows + columns): embedding 130 + 64, positions 5 + 64, three of 64 + 64, MLP 64 + 256 twice, answer 64 + 113.
    """
    weights = 4 * (10 + 2 * 2) * 60_928
    example = 4 * (194 + 69 + 3 * 128 + 2 * 320 + 177 + 3 * 113)
    data = (3830 + 8939) * (8 * 15 + 16)
    assert fit.lane_bytes(RunConfig()) == weights + 2 * 3830 * example + 8939 * example + data


def test_what_makes_a_lane_larger():
    base = RunConfig()
    assert fit.lane_bytes(replace(base, batch_size=100)) < fit.lane_bytes(base)
    assert fit.lane_bytes(replace(base, model=Transformer(scope="causal"))) > 4 * fit.lane_bytes(base)
    window = filters.get("grokfast-ma")()
    more = fit.lane_bytes(replace(base, filter=window)) - fit.lane_bytes(base)
    assert more == 4 * 2 * window.window * 60_928


@pytest.mark.parametrize(
    ("device", "free", "runs", "workers", "expected"),
    [
        (CPU, 64 * GB, 100, 2, 16),
        (CUDA, 1000 * GB, 1000, 1, 512),
        (CUDA, 1000 * GB, 40, 3, 20),
        (CUDA, 1000 * GB, 5, 3, 16),
        (CPU, 0, 5, 1, 1),
    ],
)
def test_lanes(device, free, runs, workers, expected):
    assert fitting_lanes(RunConfig(), runs, device, free, workers) == expected


def test_lanes_go_by_free_memory_and_are_shared_between_workers():
    config = RunConfig(task=Modular(p=31))
    free = 100 * fit.lane_bytes(config)
    assert fitting_lanes(config, 400, CUDA, free, 1) == 70
    assert fitting_lanes(config, 400, CUDA, free, 2) == 35


def test_this_machine_has_memory():
    assert fit.free_memory(CPU) > 1 << 26
