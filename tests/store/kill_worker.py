"""Saves in a loop and is killed (SIGKILL) at random moments, again and again.

Usage: kill_worker.py RUNS ROUNDS SEED. Every round is a forked process that opens the run, checks that it is exact,
and then saves until it dies. Forking spares each of them the import of torch. Prints the epoch each round began with.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import sample_run


def child(runs: Path, report: int) -> None:
    folder = sample_run.open_run(runs)
    epoch = sample_run.check_exact(folder)
    while True:
        os.write(report, f"{epoch}\n".encode())
        sample_run.save_next(folder, keep=folder.state.serial % 3 == 0)
        epoch = folder.state.epoch


def main(runs: Path, rounds: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as scratch, sample_run.open_run(Path(scratch)) as run:
        sample_run.save_next(run)  # imports what saving needs, once for all rounds
        sample_run.check_exact(run)
    chance = random.Random(seed)
    for _ in range(rounds):
        receive, report = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(runs, report)
            finally:
                traceback.print_exc()
                os._exit(1)
        os.close(report)
        with os.fdopen(receive) as progress:
            began = progress.readline()
            for _ in range(chance.randrange(4)):
                progress.readline()
            time.sleep(chance.uniform(0, 0.01))  # about as long as a save takes: it dies in the midst of one
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            sys.exit("a round ended before it was killed")
        print(began.strip(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
