"""A rehearsal compiles kernels and launches none; what is wrong with a kernel is said when it is launched."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
import torch

from grokscope.ops import triton as kernels
from grokscope.ops.triton.launching import launch, rehearsal, variant

CPU = torch.device("cpu")
AT = torch.zeros(8)


class Kernel:
    """What `launch` needs of a kernel of Triton."""

    def __init__(self, broken: bool = False):
        self.broken = broken
        self.params = [
            SimpleNamespace(name=name, is_constexpr=name.isupper(), do_not_specialize=name == "word")
            for name in ("tensor", "size", "share", "word", "BLOCK")
        ]
        self.launched: list[tuple] = []
        self.compiled: list[tuple] = []

    def __getitem__(self, grid):
        def run(*arguments, **options):
            if self.broken:
                raise ValueError("too large")
            self.launched.append((grid, arguments, options, threading.get_ident()))

        return run

    def warmup(self, *arguments, grid, **options):
        if self.broken:
            raise ValueError("too large")
        self.compiled.append((grid, arguments, options, threading.get_ident()))
        return SimpleNamespace(run=None)


def test_a_rehearsal_compiles_in_other_threads_and_launches_nothing():
    kernel, here = Kernel(), threading.get_ident()
    with rehearsal(CPU):
        for block in (1, 2, 3):
            launch(kernel, (4,), "tensor", BLOCK=block)
    assert not kernel.launched
    assert {call[2]["BLOCK"] for call in kernel.compiled} == {1, 2, 3}
    assert all(call[:2] == ((4,), ("tensor",)) for call in kernel.compiled)
    assert here not in {call[3] for call in kernel.compiled}
    launch(kernel, (4,), "tensor", BLOCK=16)
    assert kernel.launched == [((4,), ("tensor",), {"BLOCK": 16}, here)] and len(kernel.compiled) == 3


def test_different_kernels_and_variants_are_compiled_at_the_same_time(monkeypatch):
    monkeypatch.setattr("grokscope.ops.triton.launching.cores", lambda: 4)
    meet = threading.Barrier(4, timeout=60)
    kernels = [Kernel(), Kernel()]
    for kernel in kernels:
        kernel.warmup = lambda **_: meet.wait()  # returns once all have begun
    with rehearsal(CPU):
        for kernel in kernels:
            launch(kernel, (1,), BLOCK=16)
            launch(kernel, (1,), BLOCK=32)
    assert not meet.broken


@pytest.mark.parametrize(
    ("first", "second", "variants"),
    [
        ((AT, 130, 0.5, 3, 16), (AT, 131, 1.0, 16, 16), 1),
        ((AT, 32, 0.5, 3, 16), (AT, 48, 0.5, 1, 16), 1),
        ((AT, 130, 0.5, 3, 16), (AT, 1, 0.5, 3, 16), 2),
        ((AT, 130, 0.5, 3, 16), (AT, 128, 0.5, 3, 16), 2),
        ((AT, 130, 0.5, 3, 16), (AT, 1 << 40, 0.5, 3, 16), 2),
        ((AT, 130, 0.5, 3, 16), (AT, 130, 0.5, 3, 32), 2),
        ((AT, 130, 0.5, 3, 16), (AT[1:], 130, 0.5, 3, 16), 2),
        ((AT, 130, 0.5, 3, 16), (AT.double(), 130, 0.5, 3, 16), 2),
    ],
)
def test_a_variant_is_compiled_once(first, second, variants):
    """Triton compiles a kernel anew for a size of 1 or a multiple of 16, for an address that is not aligned, and for constants."""
    kernel, same = Kernel(), Kernel()
    with rehearsal(CPU):
        for arguments in (first, second, first):
            launch(kernel, (1,), *arguments)
            launch(same, (1,), *first)
    assert (len(kernel.compiled), len(same.compiled)) == (variants, 1)


def test_triton_and_we_count_the_same_variants():
    """With a kernel of Triton, as far as it says before it compiles."""
    from grokscope.ops.triton.adamw import _adamw
    from grokscope.ops.triton.hashed import _draw

    if not hasattr(_adamw, "params"):
        pytest.skip("Triton interprets its kernels")
    assert variant(_adamw, (AT, 64), {"BLOCK": 16}) == variant(_adamw, (AT, 32), {"BLOCK": 16})
    words = (1, 16, 3, 4)
    assert variant(_draw, (AT, AT, AT, 64, *words), {}) == variant(_draw, (AT, AT, AT, 64, *words[::-1]), {})


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
    kernels.try_early(torch.device("cuda"))
    assert begun.wait(timeout=60) and tried_in != [threading.get_ident()]
    prepared.set()
    assert kernels.usable_on(torch.device("cuda"))
    before = len(tried_in)
    kernels.try_early(CPU)
    assert not kernels.usable_on(CPU) and len(tried_in) == before
