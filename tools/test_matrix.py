"""`make test-matrix`: the tests about bits (marker `matrix`) with other instruction sets, threads, cores and versions of Python.

Every cell of the matrix is a run of pytest in a process of its own, since PyTorch and MKL choose their code when they start.
A version of Python other than the current one gets an environment `.venv-3.X` when it is first needed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST, NEWEST = (3, 11), (3, 20)
"""Versions of Python that are looked for."""
TEST_PACKAGES = ("pytest", "pytest-xdist", "hypothesis")
OUTCOMES = ("passed", "failed", "errors", "skipped")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What there is to choose from."""

    version: str
    """Of the Python that runs this, such as 3.11."""
    capability: str
    """Instruction set that PyTorch uses, such as AVX512."""
    mkl: bool
    taskset: bool
    core: int
    """A core that this process may use."""
    others: tuple[str, ...] = ()
    """Other versions of Python."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One way to run the tests."""

    name: str
    python: str
    """Its version."""
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """Words before the command."""
    workers: str = "auto"
    """Processes of pytest-xdist."""
    skip: str = ""
    """Why it cannot be run here."""


@dataclass(frozen=True, kw_only=True)
class Result:
    cell: Cell
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    ok: bool = True
    details: tuple[str, ...] = ()
    """Names of failed tests, or what pytest said last."""

    def __str__(self) -> str:
        if self.cell.skip:
            return f"not run: {self.cell.skip}"
        counted = ", ".join(f"{self.counts[name]} {name}" for name in OUTCOMES if self.counts.get(name))
        return counted if self.ok else f"{counted or 'no tests ran'}: FAILED"


def plan(machine: Machine) -> list[Cell]:
    """The cells for a machine; those that make no sense there say why."""
    x86 = machine.capability.startswith("AVX")
    no_mkl = "" if machine.mkl else "this PyTorch is built without MKL"
    no_avx2 = "" if x86 else f"PyTorch uses {machine.capability} here, which has no AVX2"
    no_taskset = "" if machine.taskset else "there is no taskset"
    one_thread = {"OMP_NUM_THREADS": "1"}

    def cell(name: str, version: str = machine.version, skip: str = "", **environment: str) -> Cell:
        return Cell(name=name, python=version, environment=one_thread | environment, skip=skip)

    return [
        cell("default"),
        cell("two threads", OMP_NUM_THREADS="2"),
        cell("PyTorch with AVX2", ATEN_CPU_CAPABILITY="avx2", skip=no_avx2),
        cell("MKL with AVX2", MKL_ENABLE_INSTRUCTIONS="AVX2", skip=no_mkl or no_avx2),
        replace(cell("one core", skip=no_taskset), prefix=("taskset", "-c", str(machine.core)), workers="0"),
        *(cell(f"Python {version}", version) for version in machine.others),
    ]


def command(cell: Cell, python: str) -> list[str]:
    """The words to run: `python` is the interpreter of the cell's environment."""
    return [*cell.prefix, python, "-m", "pytest", "-q", "-rfE", "-m", "matrix and not slow", "-n", cell.workers]


def read(cell: Cell, output: str, code: int, seconds: float) -> Result:
    """What pytest printed."""
    last = next((line for line in reversed(output.splitlines()) if re.search(r" in [\d.]+s", line)), "")
    counts: dict[str, int] = {}
    for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last):
        counts["errors" if word.startswith("error") else word] = int(number)
    ok = code == 0 and counts.get("passed", 0) > 0
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    details = () if ok else tuple(lines or output.splitlines()[-3:])
    return Result(cell=cell, counts=counts, seconds=seconds, ok=ok, details=details)


def table(results: Sequence[Result]) -> str:
    """One line per cell, in columns."""
    head = ["cell", "Python", *OUTCOMES, "seconds"]
    rows = [head]
    for result in results:
        numbers = [str(result.counts.get(name, 0)) for name in OUTCOMES]
        shown = [*numbers, f"{result.seconds:.0f}"] if not result.cell.skip else ["–"] * 5
        rows.append([result.cell.name, result.cell.python, *shown])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        row[:2] = [word.ljust(width) for word, width in zip(row, widths[:2], strict=False)]
        row[2:] = [word.rjust(width) for word, width in zip(row[2:], widths[2:], strict=True)]
    return "\n".join("  ".join(row) for row in rows)


# ── this machine ─────────────────────────────────────────────────────────────────────────────────────────────


def this_machine() -> Machine:
    import torch

    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Machine(
        version=version,
        capability=torch.backends.cpu.get_cpu_capability(),
        mkl=torch.backends.mkl.is_available(),
        taskset=shutil.which("taskset") is not None,
        core=cores[0],
        others=tuple(name for name in installed_pythons() if name != version),
    )


def installed_pythons() -> dict[str, str]:
    """Interpreters by version, on the PATH or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        name = f"python3.{minor}"
        candidates = [shutil.which(name), *sorted(map(str, pyenv.glob(f"*/bin/{name}")), reverse=True)]
        for candidate in candidates:  # a shim of pyenv may stand for a version that is not chosen
            if candidate and _answers(candidate):
                found[f"3.{minor}"] = candidate
                break
    return found


def _answers(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def environment_for(version: str) -> tuple[str, str]:
    """The interpreter of an environment with this version of Python, made if there is none; or why there is none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable, ""
    folder = ROOT / f".venv-{version}"
    python = folder / "bin" / "python"
    if (folder / ".installed").exists():
        return str(python), ""
    if not python.exists():
        subprocess.run([installed_pythons()[version], "-m", "venv", str(folder)], check=True)
    wanted = [*requirements(ROOT / "pyproject.toml"), "--quiet"]
    tried = subprocess.run(
        [str(python), "-m", "pip", "install", "--dry-run", "--report", "-", *wanted], capture_output=True, text=True
    )
    if problem := refusal(tried.returncode, tried.stdout, tried.stderr):
        return "", problem
    done = subprocess.run([str(python), "-m", "pip", "install", *wanted], capture_output=True, text=True)
    if done.returncode:
        return "", refusal(done.returncode, "", done.stderr)
    (folder / ".installed").touch()
    return str(python), ""


def requirements(pyproject: Path) -> list[str]:
    """What the tests need: the package's own dependencies and those that run tests."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    tests = [r for r in project["optional-dependencies"]["dev"] if re.split(r"[<>=!~; \[]", r)[0] in TEST_PACKAGES]
    return [*project["dependencies"], *tests]


def refusal(code: int, report: str, errors: str) -> str:
    """Why pip's plan is not carried out; "" if it is."""
    if code:
        lines = [line for line in errors.splitlines() if line.startswith("ERROR")]
        return f"pip cannot install what it needs ({lines[-1].removeprefix('ERROR: ') if lines else 'no reason given'})"
    if re.search(r'"name": "(nvidia-|cuda-)', report):
        return "pip would download PyTorch for CUDA (gigabytes); install a CPU build into its environment first"
    return ""


def run(cell: Cell) -> Result:
    if cell.skip:
        return Result(cell=cell)
    python, problem = environment_for(cell.python)
    if problem:
        return Result(cell=replace(cell, skip=problem))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MKL_", "OMP_", "ATEN_"))}
    environment = inherited | {"PYTHONPATH": str(ROOT / "src")} | dict(cell.environment)
    begin = time.monotonic()
    done = subprocess.run(command(cell, python), cwd=ROOT, env=environment, capture_output=True, text=True)
    return read(cell, done.stdout + done.stderr, done.returncode, time.monotonic() - begin)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.test_matrix", description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", metavar="CELL", help="names of cells, or parts of them; none means all")
    wanted = parser.parse_args().cells
    cells = [c for c in plan(this_machine()) if not wanted or any(word in c.name for word in wanted)]
    results = []
    for cell in cells:
        results.append(run(cell))
        print(f"{cell.name} (Python {cell.python}): {results[-1]}", flush=True)
        for line in results[-1].details:
            print(f"    {line}", flush=True)
    print(f"\n{table(results)}")
    return int(not results or any(not result.ok for result in results))


if __name__ == "__main__":
    sys.exit(main())
