"""How long the command line, the import and the way to the first step take in fresh processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..loading import travelling_files

if TYPE_CHECKING:
    import torch

    from ..config import RunConfig

IMPORT = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"

FIRST_STEP = """
import time
begin = time.perf_counter()
import json, sys, tempfile
from dataclasses import replace
from pathlib import Path
from grokscope.config import RunConfig
from grokscope.launch.local import train_all
from grokscope.loading import load_file
for path in sys.argv[3:]:
    load_file(Path(path))
config = replace(RunConfig.from_dict(json.loads(sys.argv[1])), epochs=1)
with tempfile.TemporaryDirectory() as folder:
    train_all([config], device=sys.argv[2], runs=folder)
    print(time.perf_counter() - begin)
"""


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


def first_step(config: RunConfig, device: torch.device, repeats: int = 3) -> dict[str, float]:
    """Seconds from the import of the package to the end of a run of one epoch, evaluated and saved: with no kernel compiled before
    on the machine, and median with all of them."""
    files = [file["path"] for file in travelling_files() if file["loaded"]]
    command = [sys.executable, "-c", FIRST_STEP, json.dumps(config.to_dict()), str(device), *files]
    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = (
            float(_text(command, {**os.environ, "TRITON_CACHE_DIR": folder}).split()[-1]) for _ in range(1 + repeats)
        )
    return {"first_step_cold_s": round(cold, 2), "first_step_s": round(statistics.median(warm), 2)}


def _seconds(command: Sequence[str], env: dict[str, str]) -> float:
    begin = time.perf_counter()
    _text(command, env)
    return time.perf_counter() - begin


def _text(command: Sequence[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise ConfigError("--startup", f"a fresh process could not be timed ({why})")
    return done.stdout
