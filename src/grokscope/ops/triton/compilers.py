"""Processes that compile kernels where Triton has compiled none yet.

Much of Triton's compiler is Python: threads of one process wait for each other. These processes put what they compile into Triton's
cache on disk, where this one finds it. Whatever goes wrong with them, this process compiles as it would without them.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ...helpers import cores

MOST = 8
"""Processes, at most: a step and an evaluation have some twenty kernels, and the slowest takes as long as several of the others."""
CHILD = "import sys; sys.path[:] = sys.argv[1:]; from grokscope.ops.triton.compiler import serve; serve()"


class Compilers:
    """Started processes, each of which compiles one kernel at a time; they end with the context."""

    def __init__(self, processes: int):
        self._all = [_process() for _ in range(processes)]
        self._idle: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()
        """In place of each that has failed there is a None: the thread that takes it compiles by itself."""
        for process in self._all:
            self._idle.put(process)
        self._asked: set[tuple[int, str]] = set()
        self._hooked: Any = None
        self._mine = threading.local()
        """`lock`, in a thread of the rehearsal."""

    def __enter__(self) -> Compilers | None:
        """Triton asks here from now on before it compiles a kernel; None if it cannot. What else uses Triton is not affected."""
        with suppress(ImportError, AttributeError):  # a Triton without this hook
            from triton import knobs

            if knobs.runtime.jit_cache_hook is None:
                knobs.runtime.jit_cache_hook = self._before_compiling
                self._hooked = knobs.runtime
                return self
        return None

    def __exit__(self, *error: object) -> None:
        if self._hooked is not None:
            self._hooked.jit_cache_hook = None
        self.close()

    def compiled(self, warmup: Callable[[], Any], lock: threading.Lock) -> Any:
        """The kernel that `warmup` compiles, or None if another thread does already. `lock`, which is held, is released while
        a process compiles it, so that its variants are compiled at the same time."""
        self._mine.lock = lock
        try:
            return warmup()
        finally:
            self._mine.lock = None

    def close(self) -> None:
        """End the processes."""
        for process in self._all:
            with suppress(OSError):  # it has ended, and was not sent all
                process.stdin.close()  # type: ignore[union-attr]
            process.kill()
            process.stdout.close()  # type: ignore[union-attr]
            process.wait()

    def _before_compiling(self, **asked: Any) -> bool:
        """What Triton calls; after True it does not compile."""
        if (lock := getattr(self._mine, "lock", None)) is None or not asked["fn"].module.startswith("grokscope."):
            return False
        key = (id(asked["fn"].jit_function), asked["key"])
        if key in self._asked:
            return True
        self._asked.add(key)
        lock.release()
        try:
            with suppress(Exception):
                self._ask(_request(asked["fn"], asked["compile"]))
        finally:
            lock.acquire()
        return False

    def _ask(self, request: bytes) -> None:
        """Return when a process has compiled it, or failed."""
        process, alive = self._idle.get(), False
        try:
            if process is not None:
                process.stdin.write(request)  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                alive = bool(process.stdout.read(1))  # type: ignore[union-attr]
        finally:
            self._idle.put(process if alive else None)


def _process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )


def _request(fn: Any, how: dict[str, Any]) -> bytes:
    """What `compiler.compile_kernel` needs. The options are those of the serialised kernel: the hook names only some of them."""
    from triton.runtime import driver

    target = driver.active.get_current_target()
    return pickle.dumps(
        {
            "module": fn.module,
            "name": fn.name,
            "signature": how["signature"],
            "constants": how["constants"],
            "attributes": how["configs"][0],
            "options": json.loads(how["specialization_data"])["options"],
            "target": (target.backend, target.arch, target.warp_size),
        }
    )


def nothing_compiled() -> bool:
    """Whether Triton's cache is empty, and not a remote one."""
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~/")
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or Path(home, ".triton", "cache"))
    if os.environ.get("TRITON_CACHE_MANAGER"):
        return False
    try:
        with os.scandir(folder) as entries:
            return not any(entries)
    except FileNotFoundError:
        return True
    except OSError:
        return False


_started: Compilers | None = None


def start() -> None:
    """Start processes if there is something to compile, and cores to do it: they get ready while data are prepared."""
    global _started
    count = min(MOST, cores() - 1)
    if _started is None and count > 1 and nothing_compiled():
        with suppress(OSError):
            _started = Compilers(count)
            atexit.register(end)


def take() -> Compilers | None:
    """The started processes, for one rehearsal, which ends them."""
    global _started
    taken, _started = _started, None
    return taken


def end() -> None:
    """End them if no rehearsal has taken them."""
    if (compilers := take()) is not None:
        compilers.close()
