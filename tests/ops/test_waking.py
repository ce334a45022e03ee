"""A GPU and its compiler are woken beside imports, and only where a GPU is asked for that this process has not used yet."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
import torch

from grokscope.launch import local
from grokscope.ops import memory, waking
from grokscope.ops import triton as kernels


class Driver:
    """What waking asks of the driver's library."""

    def __init__(self, devices: int = 2, works: bool = True):
        self.devices, self.works = devices, works
        self.contexts: list[int] = []

    def cuInit(self, _):
        return 0 if self.works else 100

    def cuDeviceGet(self, device, number):
        device._obj.value = 10 + number
        return 0 if number < self.devices else 101

    def cuDevicePrimaryCtxRetain(self, _, device):
        self.contexts.append(device.value)
        return 0


@pytest.fixture
def woken(monkeypatch):
    """Where PyTorch can use GPUs and has not done so; how often the compiler was warmed up."""
    count: list[None] = []
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(waking, "warm_up", lambda: count.append(None))
    monkeypatch.setattr(waking.threading, "Thread", _Thread)
    return count


class _Thread(threading.Thread):
    """A thread that waits for those that it starts."""

    def start(self):
        super().start()
        if threading.current_thread() is not threading.main_thread():
            self.join()


@pytest.mark.parametrize(("name", "device"), [("auto", 10), ("cuda", 10), ("cuda:1", 11)])
def test_the_context_of_the_gpu_is_created_in_a_thread(monkeypatch, woken, name, device):
    driver = Driver()
    monkeypatch.setattr(waking, "_driver", lambda: driver)
    thread = waking.wake(name)
    assert thread is not None
    thread.join()
    assert driver.contexts == [device] and len(woken) == 1


@pytest.mark.parametrize("driver", [None, Driver(works=False), Driver(devices=0)])
def test_without_a_gpu_nothing_is_woken(monkeypatch, woken, driver):
    monkeypatch.setattr(waking, "_driver", lambda: driver)
    thread = waking.wake("auto")
    assert thread is not None
    thread.join()
    assert not woken and (driver is None or not driver.contexts)


def test_only_a_gpu_that_was_not_used_is_woken(monkeypatch, woken):
    monkeypatch.setattr(waking, "_driver", lambda: pytest.fail("asked the driver"))
    for name in ("cpu", "mps", "cuda:x", "cuda:-1"):
        assert waking.wake(name) is None
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)  # its own GPU may be another one
    assert waking.wake("cuda") is None
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    assert waking.wake("auto") is None


def test_the_library_is_called_without_the_interpreter(monkeypatch):
    """ctypes.PyDLL would keep it."""
    monkeypatch.setattr(ctypes, "CDLL", lambda name: name)
    assert waking._driver() == "libcuda.so.1"
    monkeypatch.setattr(ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
    assert waking._driver() is None


def test_packages_are_imported_while_the_gpu_wakes(monkeypatch):
    imported, order = threading.Event(), []

    def wake(name):
        thread = threading.Thread(target=lambda: order.append((name, imported.wait(timeout=60))))
        thread.start()
        return thread

    monkeypatch.setattr(local, "wake", wake)
    monkeypatch.setattr(local, "preload", imported.set)
    monkeypatch.setattr(local, "resolve_device", lambda name: order.append(name) or torch.device("cpu"))
    assert local._place("auto") == torch.device("cpu")
    assert order == [("auto", True), "auto"]  # PyTorch is asked when the GPU is awake


def test_triton_hashes_itself_while_its_driver_is_compiled_and_once(monkeypatch):
    pytest.importorskip("triton")
    import triton.runtime
    from triton.runtime import cache

    meet, hashed = threading.Barrier(2, timeout=60), []

    class Config:
        @property
        def active(self):
            meet.wait()
            return SimpleNamespace()

    monkeypatch.setattr(triton.runtime, "driver", Config())
    monkeypatch.setattr(cache, "triton_key", lambda: hashed.append(meet.wait()))
    monkeypatch.setattr(kernels, "_warm", False)
    kernels.warm_up()
    kernels.warm_up()
    assert len(hashed) == 1 and not meet.broken


def test_a_driver_that_cannot_be_compiled_is_no_error_yet(monkeypatch):
    pytest.importorskip("triton")
    import triton.runtime
    from triton.runtime import cache

    monkeypatch.setattr(triton.runtime, "driver", SimpleNamespace())  # without `active`
    monkeypatch.setattr(cache, "triton_key", lambda: "")
    monkeypatch.setattr(kernels, "_warm", False)
    kernels.warm_up()
    assert kernels._warm


@pytest.mark.parametrize(("reserved", "searches"), [(0, 0), (2 << 20, 0), (3 << 20, 1)])
def test_garbage_is_searched_for_only_where_there_is_memory_to_release(monkeypatch, reserved, searches):
    done: list[None] = []
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: reserved)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (5, 7))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(memory.gc, "collect", lambda: done.append(None))
    assert memory.free_memory(torch.device("cuda")) == 5
    assert len(done) == searches


def test_a_cpu_wakes_nothing(tmp_path):
    code = """
import sys, threading
from grokscope.ops.waking import wake
assert wake("cpu") is None and threading.active_count() == 1 and "triton" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
