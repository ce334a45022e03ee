"""The index of equations: `python -m tools.equation_index` writes it, with `--check` it reports what is missing or stale.

It is derived, not typed: numbers, statements and formulas come from the functions, where each is tested from the tests
themselves (`@pytest.mark.equation(paper, number, …)` on a test that calls the function), where each is used from the source
(`equation_uses`), tightness from the adversaries' findings. It writes src/grokscope/theory/equations.json,
which `grokscope equations` reads, and docs/equations.md.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grokscope.papers import all_equations
from grokscope.theory.equations import Equation

from .adversaries import findings
from .equation_page import page
from .equation_uses import module_file, uses

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
TESTS = [ROOT / "tests" / "theory", *sorted((ROOT / "tests" / "papers").glob("*/equations"))]
TABLE = ROOT / "src/grokscope/theory/equations.json"
PAGE = ROOT / "docs" / "equations.md"
ORDER = [
    *("attention", "conditions", "geometry", "separation", "norms", "explaining_away", "contraction", "plateau"),
    *("acceleration", "extensions", "tickets", "periodicity", "saliency"),
]
"""The files in the order of the papers, those of `grokscope.theory` before their namesakes; others come last."""


@dataclass(frozen=True)
class MarkedTest:
    """A test marked with the equations it tests."""

    test: str
    paper: str
    numbers: tuple[str, ...]
    random: bool
    """A property test: hypothesis draws its cases."""
    names: frozenset[str]
    """Every name in its body."""


def marked_tests(folders: Sequence[Path] = TESTS, root: Path = ROOT) -> list[MarkedTest]:
    """The marked tests in some folders below `root`, read without importing them."""
    found = []
    for path in (path for folder in folders for path in sorted(folder.glob("test_*.py"))):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            calls = {_last_name(d.func): d for d in node.decorator_list if isinstance(d, ast.Call)}
            if "equation" not in calls:
                continue
            paper, *numbers = (ast.literal_eval(argument) for argument in calls["equation"].args)
            names = {_last_name(child) for child in ast.walk(node) if isinstance(child, (ast.Name, ast.Attribute))}
            where = f"{path.relative_to(root)}::{node.name}"
            found.append(MarkedTest(where, paper, tuple(numbers), "given" in calls, frozenset(names)))
    return found


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def problems(known: list[Equation], tests: list[MarkedTest]) -> list[str]:
    """Everything that keeps the index from being complete, one line each."""
    wrong = []
    by_number = {(e.paper, number): e for e in known for number in e.numbers}
    for test in tests:
        for number in test.numbers:
            equation = by_number.get((test.paper, number))
            if equation is None:
                wrong.append(f"{test.test} is marked with {test.paper} {number}, which no function has")
            elif equation.name not in test.names:
                wrong.append(f"{test.test} is marked with {test.paper} {number} but does not call {equation.name}")
    for (paper, number), equation in by_number.items():
        kinds = {test.random for test in tests if test.paper == paper and number in test.numbers}
        if False not in kinds:
            wrong.append(f"{paper} {number} ({equation.name}): no test with a case computed by hand")
        if True not in kinds:
            wrong.append(f"{paper} {number} ({equation.name}): no property test")
    for equation in known:
        if {symbol[1] for symbol in equation.symbols} != _arguments(equation):
            wrong.append(f"{equation.name}: its docstring does not explain every argument")
        if equation.bound != (_tightest(equation) is not None):
            wrong.append(f"{equation.name}: a bound has an adversary in tightness.json, and nothing else has")
    return wrong


def _arguments(equation: Equation) -> set[str]:
    return set(inspect.signature(equation.function).parameters) - {"dtype"}


def _tightest(equation: Equation) -> float | None:
    found = findings()
    ratios = [found[equation.paper, n].ratio for n in equation.numbers if (equation.paper, n) in found]
    return ratios[0] if ratios else None


def rows(known: list[Equation], tests: list[MarkedTest]) -> list[dict[str, Any]]:
    """The index as plain data, one object per equation."""
    used = uses(SOURCE, known)
    return [
        {
            "paper": e.paper,
            "numbers": list(e.numbers),
            "statement": e.statement,
            "formula": e.formula,
            "tex": e.tex,
            "symbols": [list(row) for row in e.symbols],
            "remarks": e.remarks,
            "function": f"{e.function.__module__.rpartition('.')[0]}.{e.name}",
            "file": _path(module_file(SOURCE, e.function.__module__)),
            "theme": (inspect.getmodule(e.function).__doc__ or "").splitlines()[0],
            "used_by": [_path(path) for path in used[e.name]],
            "tested": [t.test for t in tests if t.paper == e.paper and set(t.numbers) & set(e.numbers)],
            "tightest_ratio": _tightest(e),
            "refuted": e.refuted,
            "fails_as_restored": e.fails_as_restored,
        }
        for e in known
    ]


def _path(path: Path) -> str:
    return path.relative_to(SOURCE.parent).as_posix()


def main(arguments: list[str]) -> int:
    place = {theme: i for i, theme in enumerate(ORDER)}
    known = sorted(all_equations(), key=lambda e: (place.get(e.theme, len(ORDER)), not e.is_core))
    tests = marked_tests()
    table = rows(known, tests)
    texts = {TABLE: json.dumps(table, indent=1, ensure_ascii=False) + "\n", PAGE: page(table)}
    wrong = problems(known, tests)
    if arguments == ["--check"]:
        stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
        wrong += [f"{path.relative_to(ROOT)} is stale: run python -m tools.equation_index" for path in stale]
    else:
        for path, text in texts.items():
            path.write_text(text)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
