"""Processes that compile kernels for this one: what they compile is found on disk, and without them it is compiled here."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from grokscope.ops import triton as kernels
from grokscope.ops.triton import compilers
from grokscope.ops.triton.compiler import read_triton

REHEARSED = """
import subprocess, sys
import torch
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from grokscope.ops.triton import adamw, compilers, errors
from grokscope.ops.triton.launching import launch, rehearsal

class Driver:
    class launcher_cls:
        def __init__(self, *_): pass
    class utils:
        get_device_properties = staticmethod(lambda device: {"max_shared_mem": 200_000})
        load_binary = staticmethod(lambda *_: (None, 0, 0, 0, 1024))
        unload_module = staticmethod(lambda module: None)
    get_current_target = lambda self: GPUTarget("cuda", 90, 32)
    get_current_device = lambda self: 0
    get_current_stream = lambda self, device: 0

driver.set_active(Driver())
if sys.argv[1] == "broken":
    compilers.CHILD = "import os; os.read(0, 1)"
elif sys.argv[1] == "failing":
    compilers._request = lambda *_: compilers.pickle.dumps({"module": "grokscope.nowhere"})
found = []
knobs.compilation.listener = lambda **what: found.append(what["cache_hit"])
compilers.cores = lambda: 3
compilers.start()
processes = compilers._started._all
x, whole = torch.zeros(1, 64), torch.zeros(1, dtype=torch.int64)
with rehearsal(torch.device("cpu")):
    for size in (64, 63, 64, 63):  # 63 is another variant: no multiple of 16
        launch(adamw._adamw, (1, 1), x, x, x, x, whole, x, x, x, x, x, x, x, size, 1024)
    for _ in range(3):
        launch(adamw._adamw, (1, 1), x, x, x, x, whole, x, x, x, x, x, x, x, 64, 512)
print(*sorted(found), all(process.poll() is not None for process in processes), knobs.runtime.jit_cache_hook)
"""


def rehearsed(how: str, cache) -> list[str]:
    env = os.environ | {"TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED, how], capture_output=True, text=True, timeout=300, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton, which compiles for a GPU without one")
@pytest.mark.parametrize(("how", "found"), [("whole", "True"), ("broken", "False"), ("failing", "False")])
def test_processes_compile_each_variant_once_and_without_them_it_is_compiled_here(how, found, tmp_path):
    assert rehearsed(how, tmp_path) == [found] * 3 + ["True", "None"]


@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
def test_triton_is_read_once():
    from triton.runtime.cache import triton_key

    read_triton()
    before = triton_key.cache_info()
    read_triton()
    assert before.currsize == 1 and triton_key.cache_info().misses == before.misses


@pytest.mark.parametrize("there", [True, False])
def test_processes_are_started_where_nothing_is_compiled(there, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compilers, "cores", lambda: 4)
    if there:
        (tmp_path / "cache" / "a kernel").mkdir(parents=True)
    compilers.start()
    started = compilers.take()
    assert (started is None) == there
    if started:
        assert len(started._all) == 3 and compilers.take() is None
        started.close()
        assert all(process.returncode is not None for process in started._all)


def test_processes_that_no_rehearsal_takes_are_ended(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilers, "cores", lambda: 3)
    compilers.start()
    assert (started := compilers._started) is not None
    compilers.end()
    assert all(process.returncode is not None for process in started._all) and compilers.take() is None


@pytest.mark.parametrize(("cores", "cache"), [(2, ""), (16, "a remote one")])
def test_no_process_without_cores_or_beside_a_remote_cache(cores, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_MANAGER", cache)
    monkeypatch.setattr(compilers, "cores", lambda: cores)
    compilers.start()
    assert compilers.take() is None


def test_none_is_started_for_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernels.try_early(torch.device("cpu"))
    assert compilers.take() is None


def test_a_process_ends_when_the_one_that_asks_does():
    process = compilers._process()
    process.stdin.close()
    assert process.stdout.read() == b"" and process.wait(timeout=60) == 0
    process.stdout.close()
