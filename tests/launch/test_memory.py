"""Runs that do not fit into memory are refused by an estimate, before anything is allocated."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.launch.plan import check_fits, in_words, lane_bytes, least_bytes
from grokscope.ops.memory import _left_in_group, free_memory, is_out_of_memory
from grokscope.optim.adamw import AdamW
from grokscope.optim.filters import filters

CPU = torch.device("cpu")
GB = 10**9


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ({"model": {"d": 1e9}}, "model.d: 1000000000 needs about 48 EB of memory, and 8 GB are free on cpu"),
        ({"task": {"p": 1_000_000}}, "task.p: 1000000 needs about "),
        ({"model": {"d": 128}, "task": {"p": 2**61 - 1}}, "task.p: 2305843009213693951 needs about "),
        ({"task": {"test_distractors": 10**8}}, "task.test_distractors: 100000000 needs about "),
        ({"filter": {"kind": "grokfast-ma", "window": 2**62}}, "filter.window: 4611686018427387904 needs about "),
        (
            {"task": {"kind": "parity", "n": 60, "train_size": 2**40}, "epochs": 5},
            "task.train_size: 1099511627776 needs",
        ),
    ],
)
def test_a_run_that_does_not_fit_names_the_setting_that_is_largest(plain, problem):
    config = RunConfig.from_dict(plain).check()
    with pytest.raises(ConfigError) as refused:
        check_fits([RunConfig(), config], CPU, 8 * GB)
    assert str(refused.value).startswith(problem)


def test_a_run_of_defaults_can_be_too_large_as_well():
    with pytest.raises(
        ConfigError, match=r"^model: this run needs about [0-9.]+ MB of memory, and 1 MB are free on cpu$"
    ):
        check_fits([RunConfig()], CPU, 10**6)


def test_runs_that_fit_are_not_refused(tiny):
    check_fits([RunConfig(seed=seed) for seed in range(3)] + [tiny], CPU, GB)
    assert least_bytes(RunConfig()) < lane_bytes(RunConfig())


def test_the_state_of_the_optimizer_counts():
    """Two moments of 60,928 weights; a filter with a window keeps that many gradients."""
    base, window = RunConfig(), filters.get("grokfast-ma")()
    assert least_bytes(replace(base, filter=window)) - least_bytes(base) == 4 * window.window * 60_928


def test_an_optimizer_that_reads_values_is_estimated_too(monkeypatch):
    def init(self, weight, role):
        return {"mean": torch.zeros_like(weight), "largest": torch.tensor(weight.abs().max().item())}

    two = least_bytes(RunConfig())
    monkeypatch.setattr(AdamW, "init", init)
    assert 0 < two - least_bytes(RunConfig()) <= 4 * 60_928


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (np._core._exceptions._ArrayMemoryError((2,), np.dtype("f4")), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried"),
            True,
        ),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_what_counts_as_out_of_memory(error, expected):
    assert is_out_of_memory(error) is expected


@pytest.mark.parametrize("size", [2**45, 2**62])
def test_what_pytorch_raises_counts(size):
    with pytest.raises(RuntimeError) as refused:
        torch.empty(size)
    assert is_out_of_memory(refused.value)


def test_the_limit_of_a_container_counts(tmp_path):
    for name, text in {"max": "1000000", "current": "600000", "stat": "anon 5\ninactive_file 100000\n"}.items():
        (tmp_path / f"memory.{name}").write_text(text)
    assert _left_in_group(tmp_path) == 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert _left_in_group(tmp_path) is None
    assert free_memory(CPU) > 0


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (999, "999 B"), (3_200_000_000, "3.2 GB"), (10**30, "1e+12 EB")]
)
def test_sizes_in_words(size, words):
    assert in_words(size) == words
