"""What surrounds a recording, on a pretended GPU: turns, precision, streams, no trace, and errors that say why."""

import gc
import threading
from contextlib import contextmanager

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.ops import graph


class Stream:
    def wait_stream(self, other):
        pass


class PretendedGPU:
    """Records by calling, replays by calling again."""

    def __init__(self):
        self.default = Stream()
        self.here = threading.local()
        self.recording, self.recorded_on, self.modes = 0, [], []
        self.breaks = False

    def current_stream(self):
        return getattr(self.here, "stream", self.default)

    @contextmanager
    def stream(self, stream):
        before, self.here.stream = self.current_stream(), stream
        try:
            yield
        finally:
            self.here.stream = before

    @contextmanager
    def graph(self, graph, stream, capture_error_mode):
        self.recording += 1
        assert self.recording == 1
        assert not gc.isenabled()
        self.recorded_on.append(stream)
        self.modes.append(capture_error_mode)
        try:
            with self.stream(stream):
                yield
        finally:
            self.recording -= 1
            if self.breaks:
                raise RuntimeError("operation failed due to a previous error during capture")


@pytest.fixture
def gpu(monkeypatch):
    gpu = PretendedGPU()
    monkeypatch.setattr(torch.cuda, "current_stream", gpu.current_stream)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda: gpu.default)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", gpu.stream)
    monkeypatch.setattr(torch.cuda, "graph", gpu.graph)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: type("Graph", (), {"replay": lambda self: None})())
    return gpu


def test_recording_leaves_no_trace(gpu):
    state = torch.arange(3.0)
    call = graph.captured(lambda: state.add_(1), lambda: [state])
    call()
    assert torch.equal(state, torch.arange(3.0))
    assert gc.isenabled()
    call()
    assert len(gpu.recorded_on) == 1


def test_a_part_warms_up_in_place_of_the_whole(gpu):
    state = torch.zeros(())
    seen = []

    def step():
        seen.append(gpu.recording)
        state.add_(1)

    def burst():
        for _ in range(8):
            step()

    graph.captured(burst, lambda: [state], part=step)()
    assert seen == [0] * 2 + [1] * 8
    assert state == 0


@pytest.mark.parametrize(("precision", "inside"), [("float32", "highest"), ("tf32", "high"), ("", "highest")])
def test_precision_counts_while_recording_and_is_restored(gpu, precision, inside):
    seen = []
    graph.captured(lambda: seen.append(torch.get_float32_matmul_precision()), lambda: [], precision)()
    assert set(seen) == {inside}
    assert torch.get_float32_matmul_precision() == "highest"


def test_threads_take_turns_each_on_its_own_stream(gpu):
    own = [Stream() for _ in range(4)]
    seen = [[] for _ in own]

    def work(number):
        precision = "tf32" if number % 2 else "float32"
        with gpu.stream(own[number]):
            for _ in range(20):
                graph.captured(
                    lambda: seen[number].append(torch.get_float32_matmul_precision()), lambda: [], precision
                )()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(map(id, gpu.recorded_on)) == sorted(id(stream) for stream in own for _ in range(20))
    assert set(gpu.modes) == {"thread_local"}
    assert [set(values) for values in seen] == [{"highest"}, {"high"}] * 2
    assert torch.get_float32_matmul_precision() == "highest"
    assert gc.isenabled()


def test_the_default_stream_is_not_recorded_on(gpu):
    graph.captured(lambda: None, lambda: [])()
    assert gpu.recorded_on[0] is not gpu.default


def test_out_of_memory_is_told_even_when_the_recording_breaks(gpu):
    gpu.breaks = True
    steps = iter([None, None, torch.OutOfMemoryError("full")])

    def step():
        if (error := next(steps)) is not None:
            raise error

    with pytest.raises(torch.OutOfMemoryError, match="full"):
        graph.captured(step, lambda: [])()
    assert not graph.RECORDING.locked()
    assert gc.isenabled()


def test_what_cannot_be_recorded_is_told_with_its_line(gpu):
    gpu.breaks = True
    refused = RuntimeError(
        "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned."
    )
    steps = iter([None, None, refused])

    def step():
        if (error := next(steps)) is not None:
            raise error

    with pytest.raises(
        ConfigError, match=r"test_graph.py, line \d+: a GPU cannot record `raise error`: .* torch.full"
    ) as told:
        graph.captured(step, lambda: [])()
    assert "\n" not in str(told.value) and told.value.__cause__ is refused


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), ValueError("a number")])
def test_another_error_of_a_step_is_passed_on(gpu, error, breaks):
    gpu.breaks = breaks
    steps = iter([None, None, error])

    def step():
        if (raised := next(steps)) is not None:
            raise raised

    with pytest.raises(type(error)) as told:
        graph.captured(step, lambda: [])()
    assert told.value is error


def test_a_recording_that_cannot_end_is_told_as_it_is(gpu):
    gpu.breaks = True
    with pytest.raises(RuntimeError, match="previous error during capture"):
        graph.captured(lambda: None, lambda: [])()
