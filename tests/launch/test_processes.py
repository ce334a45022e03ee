"""One process per GPU, on a machine with a pretended number of GPUs: which chunk goes where, and what becomes of the chunks of a
process that dies or a device that fails."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
import torch

from grokscope.launch.chunks import Chunk
from grokscope.launch.executors import local, parse_place
from grokscope.launch.worker import Outcome
from grokscope.ops import devices

DONE = Outcome(host="here", problem="", refused=False, steps=(1, 1))
FAILED = Outcome(host="here", problem="CUDA error: an uncorrectable ECC error", refused=False, steps=(0, 0))


@pytest.fixture
def gpus(monkeypatch):
    def pretend(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)

    return pretend


@pytest.mark.parametrize(
    ("count", "settings", "device", "expected"),
    [
        (4, {}, "auto", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
        (4, {}, "cuda", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
        (4, {}, "cuda:2", ["cuda:2"]),
        (4, {}, "cpu", ["cpu"]),
        (4, {"local.devices": "cuda:1, cuda:3"}, "auto", ["cuda:1", "cuda:3"]),
        (1, {}, "auto", ["auto"]),
        (0, {}, "auto", ["auto"]),
        (0, {"local.processes": "3"}, "auto", ["cpu", "cpu", "cpu"]),
        (4, {"local.processes": 2}, "cpu", ["cpu", "cpu"]),
    ],
)
def test_every_gpu_is_used_unless_one_is_named(gpus, count, settings, device, expected):
    gpus(count)
    place = parse_place("local", dict(settings))
    assert place.chosen(device) == expected
    assert place.in_process(device) == (len(expected) == 1)


@pytest.mark.parametrize("cores", [1, 5])
def test_one_process_per_core(gpus, monkeypatch, cores):
    gpus(0)
    monkeypatch.setattr(local, "cores", lambda: cores)
    place = parse_place("local", {"local.processes": "0"})
    assert place.chosen("auto") == ["cpu"] * cores
    assert place.in_process("auto") == (cores == 1)


def test_processes_are_not_for_a_gpu(gpus):
    gpus(1)
    with pytest.raises(
        devices.ConfigError, match=r"^local.processes: a GPU trains many runs in one process; add --device cpu"
    ):
        parse_place("local", {"local.processes": 2}).chosen("cuda")


@pytest.mark.parametrize(("runs", "sizes"), [(100, [25] * 4), (41, [16, 16, 9]), (3000, [512] * 5 + [440])])
def test_the_runs_are_cut_for_the_number_of_gpus(gpus, tiny, runs, sizes):
    gpus(4)
    configs = [replace(tiny, seed=seed) for seed in range(runs)]
    chunks = parse_place("local", {}).cut(configs, "auto", None)
    assert [len(chunk.configs) for chunk in chunks] == sizes
    assert sorted(id for chunk in chunks for id in chunk.ids) == sorted(config.id for config in configs)


class Worker(local._Worker):
    """A worker without a process: `ends` gives the outcome of each task on a device; None for a process that dies."""

    log: list[tuple[str, int]]

    def spawn(self):
        self.process = object()

    def start(self, number, task):
        self.spawn()
        self.number, self.outcome = number, None
        self.log.append((self.device, number))

    def ended(self):
        self.outcome = self.ends(self.device, self.number)
        self.number = None
        return True

    def stop(self):
        pass

    def end(self):
        self.process = None


def trained(monkeypatch, ends, tasks=6, count=3, after=()) -> tuple[local.Processes, list[tuple[str, int]]]:
    """Trains made-up tasks on devices whose tasks end as `ends(device, task)` says; also who began what, in order."""
    log: list[tuple[str, int]] = []
    monkeypatch.setattr(local, "_Worker", Worker)
    monkeypatch.setattr(Worker, "log", log, raising=False)
    monkeypatch.setattr(Worker, "ends", staticmethod(ends), raising=False)
    chunks = [Chunk(configs=(), after=(0,) if number in after else ()) for number in range(tasks)]
    processes = local.Processes([{}] * tasks, chunks, [f"cuda:{number}" for number in range(count)])
    while processes.poll():
        assert len(log) < 100
    assert not processes.waiting
    return processes, log


def test_every_gpu_has_a_chunk_and_takes_the_next_when_it_is_free(monkeypatch):
    processes, log = trained(monkeypatch, lambda device, number: DONE)
    assert log == [("cuda:0", 0), ("cuda:1", 1), ("cuda:2", 2), ("cuda:0", 3), ("cuda:1", 4), ("cuda:2", 5)]
    assert len(processes.outcomes()) == 6 and processes.lost() == ""


def test_a_chunk_begins_after_those_it_needs(monkeypatch):
    _, log = trained(monkeypatch, lambda device, number: DONE, tasks=3, after=(1, 2))
    assert log[0] == ("cuda:0", 0) and {number for _, number in log[1:]} == {1, 2}


def test_the_chunks_of_a_gpu_whose_processes_die_are_trained_by_the_others(monkeypatch):
    processes, log = trained(monkeypatch, lambda device, number: None if device == "cuda:0" else DONE)
    assert len(processes.outcomes()) == 6 and processes.lost() == "", "none is lost"
    died = [number for device, number in log if device == "cuda:0"]
    assert len(died) == local.FAILURES, "then it gets no more"
    for number in died:
        assert [device for device, other in log if other == number][-1] != "cuda:0"


def test_a_chunk_that_kills_every_process_is_given_up_and_the_rest_is_trained(monkeypatch):
    processes, log = trained(monkeypatch, lambda device, number: None if number == 2 else DONE)
    assert len(processes.outcomes()) == 5
    assert processes.lost() == "1 task ended twice by a signal, perhaps for lack of memory"
    first, second = (device for device, number in log if number == 2)
    assert first != second


def test_a_gpu_that_fails_does_not_use_up_the_chunks_of_the_others(monkeypatch):
    processes, log = trained(monkeypatch, lambda device, number: FAILED if device == "cuda:1" else DONE, tasks=30)
    failed = [number for device, number in log if device == "cuda:1"]
    assert len(failed) == local.FAILURES
    assert sum(bool(outcome["problem"]) for outcome in processes.outcomes()) == local.FAILURES
    assert len(processes.outcomes()) == 30


def test_where_everything_fails_every_chunk_is_tried(monkeypatch):
    processes, _ = trained(monkeypatch, lambda device, number: FAILED, tasks=20)
    assert len(processes.outcomes()) == 20


@pytest.mark.parametrize(
    ("before", "device", "seen"),
    [
        (None, "cuda:2", "2"),
        ("4,6,7", "cuda:2", "7"),
        ("GPU-a, GPU-b", "cuda:1", "GPU-b"),
        (None, "cpu", None),
        ("3", "cuda", "3"),
    ],
)
def test_a_process_sees_its_own_gpu_alone(monkeypatch, before, device, seen):
    monkeypatch.delenv(local.VISIBLE, raising=False)
    if before is not None:
        monkeypatch.setenv(local.VISIBLE, before)
    sent: list[dict[str, str]] = []

    class Context:
        def Pipe(self):
            end = type("End", (), {"send": lambda self, task: sent.append(task), "close": lambda self: None})
            return end(), end()

        def Process(self, **options):
            return type("Process", (), {"start": lambda self: sent.append({"seen": os.environ.get(local.VISIBLE)})})()

    monkeypatch.setattr(local.multiprocessing, "get_context", lambda kind: Context())
    local._Worker(device).start(0, {"device": "cuda"})
    assert sent == [{"seen": seen}, {"device": device.partition(":")[0]}]
    assert os.environ.get(local.VISIBLE) == before


def test_a_gpu_that_does_not_exist_is_one_line(gpus, monkeypatch):
    gpus(2)
    with pytest.raises(devices.ConfigError, match=r"^device: cuda:5: there are only 2 CUDA devices$"):
        parse_place("local", {"local.devices": "cuda:0,cuda:5"}).uses_gpu("auto")
    with pytest.raises(devices.ConfigError, match=r"^local.devices: .* names a CPU and a GPU"):
        parse_place("local", {"local.devices": "cuda:0,cpu"}).uses_gpu("auto")
