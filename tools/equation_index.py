"""The index of equations: `python -m tools.equation_index` writes it, with `--check` it says what is missing or stale.

It is derived, not typed: numbers, statements and formulas come from the functions, where each is tested from the tests
themselves (`@pytest.mark.equation(paper, number, …)` on a test that calls the function), tightness from the adversaries'
findings. Written are src/grokscope/theory/equations.json, which `grokscope equations` reads, and docs/equations.md.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grokscope.theory import equations
from grokscope.theory.equations import Equation

from .adversaries import findings
from .equation_page import page

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "theory"
TABLE = ROOT / "src/grokscope/theory/equations.json"
PAGE = ROOT / "docs" / "equations.md"
ORDER = [
    *("attention", "conditions", "geometry", "separation", "norms", "explaining_away", "contraction", "plateau"),
    *("acceleration", "extensions", "tickets", "periodicity", "saliency"),
]
"""The files in the order of the papers; others come last."""


@dataclass(frozen=True)
class Claim:
    """A test that says which equations it tests."""

    test: str
    paper: str
    numbers: tuple[str, ...]
    random: bool
    """A property test: hypothesis draws its cases."""
    names: frozenset[str]
    """Every name in its body."""


def claims(folder: Path = TESTS) -> list[Claim]:
    """What the tests in a folder claim to test, read without importing them."""
    found = []
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            calls = {_last_name(d.func): d for d in node.decorator_list if isinstance(d, ast.Call)}
            if "equation" not in calls:
                continue
            paper, *numbers = (ast.literal_eval(argument) for argument in calls["equation"].args)
            names = {_last_name(child) for child in ast.walk(node) if isinstance(child, (ast.Name, ast.Attribute))}
            where = f"{folder.parent.name}/{folder.name}/{path.name}::{node.name}"
            found.append(Claim(where, paper, tuple(numbers), "given" in calls, frozenset(names)))
    return found


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def problems(known: list[Equation], tests: list[Claim]) -> list[str]:
    """Everything that keeps the index from being complete, a line each."""
    wrong = []
    by_number = {(e.paper, number): e for e in known for number in e.numbers}
    for claim in tests:
        for number in claim.numbers:
            equation = by_number.get((claim.paper, number))
            if equation is None:
                wrong.append(f"{claim.test} tests {claim.paper} {number}, which no function claims")
            elif equation.name not in claim.names:
                wrong.append(f"{claim.test} claims {claim.paper} {number} but does not call {equation.name}")
    for (paper, number), equation in by_number.items():
        kinds = {claim.random for claim in tests if claim.paper == paper and number in claim.numbers}
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


def rows(known: list[Equation], tests: list[Claim]) -> list[dict[str, Any]]:
    """The index as plain data, one object an equation."""
    return [
        {
            "paper": e.paper,
            "numbers": list(e.numbers),
            "statement": e.statement,
            "formula": e.formula,
            "tex": e.tex,
            "symbols": [list(row) for row in e.symbols],
            "remarks": e.remarks,
            "function": f"grokscope.theory.{e.name}",
            "file": f"src/grokscope/theory/{e.theme}.py",
            "theme": (inspect.getmodule(e.function).__doc__ or "").splitlines()[0],
            "tested": [c.test for c in tests if c.paper == e.paper and set(c.numbers) & set(e.numbers)],
            "tightest_ratio": _tightest(e),
            "refuted": e.refuted,
        }
        for e in known
    ]


def main(arguments: list[str]) -> int:
    place = {theme: i for i, theme in enumerate(ORDER)}
    known, tests = sorted(equations(), key=lambda e: place.get(e.theme, len(ORDER))), claims()
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
