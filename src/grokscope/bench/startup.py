"""How long the command line and the import take in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

IMPORT = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"


def startup(repeats: int = 5) -> dict[str, float]:
    """Median seconds of `grokscope --help` and of `import grokscope`; `import torch` is timed once, separately: the first
    two do not import it. Bytecode is cached in a separate folder, written by a first process that is not timed."""
    with tempfile.TemporaryDirectory() as folder:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env["PYTHONPYCACHEPREFIX"] = folder
        help_, ours = [sys.executable, "-m", "grokscope", "--help"], [sys.executable, "-c", IMPORT.format("grokscope")]
        _text(help_, env), _text(ours, env)
        wholes = [_seconds(help_, env) for _ in range(repeats)]
        imports = [float(_text(ours, env)) for _ in range(repeats)]
    torch = [float(_text([sys.executable, "-c", IMPORT.format("torch")], dict(os.environ)))]
    medians = map(statistics.median, (wholes, imports, torch))
    return dict(zip(("help_s", "import_s", "torch_s"), (round(value, 4) for value in medians), strict=True))


def _seconds(command: Sequence[str], env: dict[str, str]) -> float:
    begin = time.perf_counter()
    _text(command, env)
    return time.perf_counter() - begin


def _text(command: Sequence[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
