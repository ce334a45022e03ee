"""A rehearsal compiles kernels and launches none; what is wrong with a kernel is said when it is launched."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
import torch

from grokscope.ops import triton as kernels
from grokscope.ops.triton.launching import launch, rehearsal

CPU = torch.device("cpu")


class Kernel:
    """What `launch` needs of a kernel of Triton."""

    def __init__(self, broken: bool = False):
        self.broken = broken
        self.launched: list[tuple] = []
        self.compiled: list[tuple] = []
        self.at_once = self.most_at_once = 0

    def __getitem__(self, grid):
        def run(*arguments, **options):
            if self.broken:
                raise ValueError("too large")
            self.launched.append((grid, arguments, options, threading.get_ident()))

        return run

    def warmup(self, *arguments, grid, **options):
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(0.01)
        self.at_once -= 1
        if self.broken:
            raise ValueError("too large")
        self.compiled.append((grid, arguments, options, threading.get_ident()))
        return SimpleNamespace(run=None)


def test_a_rehearsal_compiles_in_other_threads_and_launches_nothing():
    kernel, here = Kernel(), threading.get_ident()
    with rehearsal(CPU):
        for size in (1, 2, 3):
            launch(kernel, (4,), size, BLOCK=16)
    assert not kernel.launched
    assert {call[1] for call in kernel.compiled} == {(1,), (2,), (3,)}
    assert all(call[0] == (4,) and call[2] == {"BLOCK": 16} for call in kernel.compiled)
    assert here not in {call[3] for call in kernel.compiled}
    assert kernel.most_at_once == 1  # one kernel is never compiled twice at the same time
    launch(kernel, (4,), 5, BLOCK=16)
    assert kernel.launched == [((4,), (5,), {"BLOCK": 16}, here)] and len(kernel.compiled) == 3


def test_different_kernels_are_compiled_at_the_same_time():
    meet = threading.Barrier(2, timeout=60)
    kernels = [Kernel(), Kernel()]
    for kernel in kernels:
        kernel.warmup = lambda **_: meet.wait()  # returns once both have begun
    with rehearsal(CPU):
        for kernel in kernels:
            launch(kernel, (1,))
    assert not meet.broken


def test_other_threads_launch_as_usual():
    kernel = Kernel()
    with rehearsal(CPU):
        thread = threading.Thread(target=launch, args=(kernel, (1,), "theirs"))
        thread.start()
        thread.join()
        launch(kernel, (1,), "ours")
    assert [call[1] for call in kernel.launched] == [("theirs",)]
    assert [call[1] for call in kernel.compiled] == [("ours",)]


def test_a_backward_pass_is_rehearsed_too():
    kernel = Kernel()

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            launch(kernel, (1,), "backward")
            return 2 * grad

    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.ones(3, device=device, requires_grad=True)
    with rehearsal(CPU):
        Twice.apply(x).sum().backward()
    assert not kernel.launched and [call[1] for call in kernel.compiled] == [("backward",)]


def test_what_is_wrong_with_a_kernel_is_said_when_it_is_launched():
    kernel = Kernel(broken=True)
    with rehearsal(CPU):
        launch(kernel, (1,))
    with pytest.raises(ValueError, match="too large"):
        launch(kernel, (1,))


def test_an_error_ends_the_rehearsal():
    kernel = Kernel()
    with pytest.raises(KeyError), rehearsal(CPU):
        raise KeyError
    launch(kernel, (1,))
    assert kernel.launched


def test_kernels_are_tried_while_other_things_are_prepared(monkeypatch):
    begun, prepared, tried_in = threading.Event(), threading.Event(), []

    def trial():
        tried_in.append(threading.get_ident())
        begun.set()
        return prepared.wait(timeout=60)

    monkeypatch.setattr(kernels, "_compiled", trial)
    monkeypatch.setattr(kernels.compilers, "start", lambda: None)
    kernels.try_early(torch.device("cuda"))
    assert begun.wait(timeout=60) and tried_in != [threading.get_ident()]
    prepared.set()
    assert kernels.usable_on(torch.device("cuda"))
    before = len(tried_in)
    kernels.try_early(CPU)
    assert not kernels.usable_on(CPU) and len(tried_in) == before
