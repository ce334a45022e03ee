"""The plan of `make test-matrix`, and what is made of pytest's and pip's answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.test_matrix import (
    ROOT,
    Cell,
    Machine,
    Result,
    command,
    environment_for,
    plan,
    read,
    refusal,
    requirements,
    table,
)

USUAL = Machine(version="3.11", capability="AVX512", mkl=True, taskset=True, core=2, others=("3.12", "3.13"))
CELL = Cell(name="default", python="3.11")


def by_name(machine: Machine) -> dict[str, Cell]:
    return {cell.name: cell for cell in plan(machine)}


def test_every_instruction_set_thread_core_and_python_has_a_cell() -> None:
    cells = by_name(USUAL)
    one = {"OMP_NUM_THREADS": "1"}
    assert {name: dict(cell.environment) for name, cell in cells.items()} == {
        "default": one,
        "two threads": {"OMP_NUM_THREADS": "2"},
        "PyTorch with AVX2": one | {"ATEN_CPU_CAPABILITY": "avx2"},
        "MKL with AVX2": one | {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
        "one core": one,
        "Python 3.12": one,
        "Python 3.13": one,
    }
    assert [cell.python for cell in cells.values()] == ["3.11"] * 5 + ["3.12", "3.13"]
    assert not any(cell.skip for cell in cells.values())


def test_one_core_is_one_process_on_a_core_that_may_be_used() -> None:
    words = command(by_name(USUAL)["one core"], "python")
    assert words[:4] == ["taskset", "-c", "2", "python"]
    assert words[-2:] == ["-n", "0"]
    assert command(CELL, "python")[0] == "python"


def test_only_marked_tests_are_run() -> None:
    assert command(CELL, "python")[1:] == ["-m", "pytest", "-q", "-rfE", "-m", "matrix and not slow", "-n", "auto"]


@pytest.mark.parametrize(
    ("change", "skipped"),
    [
        ({"mkl": False}, {"MKL with AVX2": "MKL"}),
        ({"taskset": False}, {"one core": "taskset"}),
        ({"capability": "NEON", "mkl": False}, {"PyTorch with AVX2": "NEON", "MKL with AVX2": "MKL"}),
    ],
)
def test_what_makes_no_sense_here_says_why(change: dict[str, object], skipped: dict[str, str]) -> None:
    cells = by_name(replace(USUAL, **change))  # type: ignore[arg-type]
    assert {name for name, cell in cells.items() if cell.skip} == set(skipped)
    assert all(word in cells[name].skip for name, word in skipped.items())


def test_the_outcome_is_read_from_the_last_line() -> None:
    good = read(CELL, "....s\n74 passed, 11 skipped, 320 deselected in 40.18s\n", 0, 41.0)
    assert good.ok
    assert dict(good.counts) == {"passed": 74, "skipped": 11}
    assert str(good) == "74 passed, 11 skipped"
    output = (
        "..F\nFAILED tests/a.py::b - assert False\nERROR tests/c.py\n1 failed, 2 passed, 1 error in 3.00s (0:00:03)\n"
    )
    bad = read(CELL, output, 1, 3.0)
    assert not bad.ok
    assert dict(bad.counts) == {"failed": 1, "passed": 2, "errors": 1}
    assert bad.details == ("FAILED tests/a.py::b - assert False", "ERROR tests/c.py")
    assert str(bad) == "2 passed, 1 failed, 1 errors: FAILED"


@pytest.mark.parametrize(
    ("output", "code"), [("no tests ran in 0.01s\n", 5), ("Killed\n", -9), ("1 skipped in 1.00s", 0)]
)
def test_a_run_in_which_nothing_passed_has_failed(output: str, code: int) -> None:
    result = read(CELL, output, code, 1.0)
    assert not result.ok
    assert result.details
    assert str(result).endswith("FAILED")


def test_the_table_has_a_line_per_cell() -> None:
    results = [
        read(CELL, "74 passed, 11 skipped in 40.18s", 0, 41.2),
        Result(cell=replace(CELL, name="one core", skip="there is no taskset")),
    ]
    assert table(results).splitlines() == [
        "cell      Python  passed  failed  errors  skipped  seconds",
        "default   3.11        74       0       0       11       41",
        "one core  3.11         –       –       –        –        –",
    ]
    assert str(results[1]) == "not run: there is no taskset"


def test_pip_is_not_let_loose_on_gigabytes() -> None:
    assert refusal(0, '{"install": [{"metadata": {"name": "torch"}}]}', "") == ""
    assert "CUDA" in refusal(0, '{"metadata": {"name": "nvidia-cublas-cu12", "version": "12.8"}}', "")
    failed = refusal(1, "", "notice\nERROR: No matching distribution found for torch<2.14,>=2.11\n")
    assert failed == "pip cannot install what it needs (No matching distribution found for torch<2.14,>=2.11)"


def test_requirements_are_those_of_the_package_and_of_its_tests() -> None:
    names = requirements(ROOT / "pyproject.toml")
    assert any(name.startswith("torch>=") for name in names)
    assert any(name.startswith("hypothesis") for name in names)
    assert not any(name.startswith(("ruff", "mypy", "triton")) for name in names)


def test_the_current_python_needs_no_environment_of_its_own() -> None:
    import sys

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert environment_for(version) == (sys.executable, "")
