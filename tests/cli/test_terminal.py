"""The live table on a real pseudo-terminal: every model, small and large screens, and the command itself."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from grokscope.cli.progress import Display
from grokscope.launch.local import train_all
from grokscope.models import models
from grokscope.store import read_metrics
from tests.contracts.test_every_entry import config_with

SIZES = [(80, 24), (120, 40)]
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
UP = "\x1b[1A\x1b[2K"


class Screen:
    """A pseudo-terminal of some size that keeps all that is written to it."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._parts = []
        self._reader = threading.Thread(target=self._read)  # a full buffer would block the writer
        self._reader.start()

    def _read(self):
        while True:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # EIO: the last writer has closed its end
                break
            if not part:
                break
            self._parts.append(part)
        os.close(self.master)

    @property
    def text(self):
        """All that was written, once every writer has closed the terminal."""
        self._reader.join()
        return b"".join(self._parts).decode()

    def check(self, runs, fewest=None):
        """Every line fits the width, every frame has one row per run that has begun, a header and a footer, and fits the height.

        fewest   lines that the largest frame erases at the least; by default those of a frame with all runs. How many frames are
                 drawn between the first and the last depends on the speed of the machine, unless each evaluation draws one
        """
        lines = re.split(r"[\r\n]", ANSI.sub("", self.text))
        assert max(map(cell_len, lines)) <= self.columns
        assert sum(bool(re.search(r"seed \d+ +\d+ / \d+", line)) for line in lines) >= runs
        erased = [len(found[0]) // len(UP) for found in re.finditer(f"(?:{re.escape(UP)})+", self.text)]
        assert erased, "nothing was drawn over"
        # a frame has the runs that have begun; the last one erases the line of the cursor too
        assert (runs + 1 if fewest is None else fewest) <= max(erased) <= runs + 2
        assert min(erased) >= 2
        assert max(erased) < self.rows


@contextmanager
def screen(columns, rows):
    opened = Screen(columns, rows)
    try:
        yield opened
    finally:
        os.close(opened.slave)  # ends the reader


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("kind", list(models.entries()))
def test_every_model_trains_on_a_terminal(kind, size, tmp_path):
    config = replace(config_with("model", kind), epochs=10)
    configs = [replace(config, seed=seed) for seed in range(3)]
    with screen(*size) as tty, io.TextIOWrapper(io.FileIO(tty.slave, "w", closefd=False), write_through=True) as file:
        console = Console(file=file, width=size[0], height=size[1])
        assert console.is_terminal
        conditions = [f"{kind}, a condition with a name that is longer than {size[0]} columns are wide " * 2] * 3
        with Display(configs, conditions, console=console, every=0.0) as display:
            assert display.live is not None
            runs = train_all(configs, runs=tmp_path, device="cpu", progress=display)
    assert [run.status for run in runs] == ["done"] * 3
    assert len(display.lanes) == 3
    tty.check(3)
    has_D = "D" in read_metrics(runs[0]).column_names
    header = next(line for line in ANSI.sub("", tty.text).splitlines() if line.startswith("run "))
    assert ("D" in header.split()) == has_D
    assert ("R²" in header) == config.task.shape.regression


COMMANDS = {
    (80, 24): "--task modular --set task.p=7 --set task.alphabet=3 --set model.d=8 --set model.d_mlp=16",
    (120, 40): "--task polynomial --set task.dimension=5 --set task.train_size=20 --set task.test_size=10 --loss mse "
    "--model committee",
}
"""With D, and with R² in its place."""


@pytest.mark.parametrize(("size", "words"), COMMANDS.items(), ids=["80x24", "120x40"])
def test_the_command_on_a_terminal(size, words, tmp_path):
    command = [sys.executable, "-m", "grokscope", "train", *words.split(), "--set", "epochs=20", "--set", "log.every=5"]
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    with screen(*size) as tty:
        done = subprocess.run(
            [*command, "--seeds", "3", "--device", "cpu", "--runs", str(tmp_path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=tty.slave,
            text=True,
            env=environment,
            check=False,
        )
    assert done.returncode == 0, tty.text
    assert done.stdout.count("done") == 3
    tty.check(3, fewest=2)
