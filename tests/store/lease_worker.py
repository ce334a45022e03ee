"""A process on "another machine", on a file system whose flock is granted on each machine separately: it stops itself (SIGSTOP)
before the n-th step on disk of a save, for n = 1, 2, …, and says on stdout how each save ended."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sample_run import open_run, save_next

from grokscope.errors import StoreError
from grokscope.store import lease

STEPS = ("open", "replace", "rename", "unlink", "listdir")


class Stopper:
    """Stops the process before the n-th call of a function of os."""

    left = -1

    def wrap(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def stopping(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGSTOP)
            return step(*args, **options)

        return stopping


def main(runs: Path) -> None:
    fcntl.flock = lambda *_: None  # type: ignore[assignment]
    lease.machine = lambda: "a"  # type: ignore[assignment]
    lease.Lease.beat = lambda self, count: None  # type: ignore[method-assign]  # its steps would be counted too
    stopper = Stopper()
    for name in STEPS:
        setattr(os, name, stopper.wrap(getattr(os, name)))
    for nth in range(1, 100):
        with open_run(runs, id=f"run{nth}") as run:
            save_next(run, keep=True)
            save_next(run)
            stopper.left = nth
            try:
                save_next(run)
                print(f"{nth} saved", flush=True)
            except StoreError as error:
                print(f"{nth} {error}", flush=True)
            if stopper.left > 0:
                return  # it was saved without reaching the n-th step
            stopper.left = -1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
