"""Where equations are used: `grokscope.theory` holds those that the instrument calls, papers those that they alone use."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from grokscope.papers import all_equations
from grokscope.theory import Equation
from tools.equation_index import SOURCE
from tools.equation_uses import names_read, uses

PACKAGE = SOURCE / "grokscope"
EQUATIONS = all_equations()
USED = uses(SOURCE, EQUATIONS)


def by_the_instrument(path: Path) -> bool:
    return not path.is_relative_to(PACKAGE / "papers") and not path.is_relative_to(PACKAGE / "theory")


def called_inside_theory() -> dict[str, set[str]]:
    """By the name of a function of the theory, the names that it reads."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / "theory").glob("*.py")]
    return {name: read for tree in trees for name, read in names_read(tree).items() if name}


@pytest.mark.parametrize("equation", [e for e in EQUATIONS if e.is_core], ids=lambda e: e.name)
def test_the_instrument_calls_every_equation_of_the_theory(equation: Equation) -> None:
    """Directly, or through another function of the theory."""
    reads = called_inside_theory()
    needed = {name for name, paths in USED.items() if any(map(by_the_instrument, paths))}
    needed |= {"logit_gradient_bound_at", "spectral_norm"}  # called by measures and models, and no numbered equations
    while more := {inner for name in needed for inner in reads.get(name, ()) if inner in reads} - needed:
        needed |= more
    assert equation.name in needed, "only a paper or a test calls it: its place is papers/<paper>/equations"


@pytest.mark.parametrize("equation", [e for e in EQUATIONS if not e.is_core], ids=lambda e: e.name)
def test_the_instrument_calls_no_equation_of_a_paper(equation: Equation) -> None:
    assert not [path for path in USED[equation.name] if by_the_instrument(path)]


SOURCES = {
    "theory/norms.py": "def norm(): pass\ndef twice(): return 2 * norm()\ndef alone(): pass\ndef itself(): return itself()",
    "theory/__init__.py": "from .norms import alone, norm",
    "measures/fit.py": "from ..theory import alone as other, norm\nvalue = norm()",
    "measures/size.py": "from grokscope.theory.norms import norm\ndef size(): return norm()",
    "measures/unlike.py": "from .elsewhere import norm\nvalue = norm()",
}


def test_a_use_is_an_import_that_is_read(tmp_path: Path) -> None:
    for name, text in SOURCES.items():
        path = tmp_path / "grokscope" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def known(name: str) -> Equation:
        def function() -> None: ...

        function.__name__, function.__module__ = name, "grokscope.theory.norms"
        return Equation(paper="p", numbers=("1",), tex="", bound=False, refuted="", function=function)

    found = uses(tmp_path, [known(name) for name in ("norm", "alone", "itself")])
    files = {
        name: [path.relative_to(tmp_path / "grokscope").as_posix() for path in paths] for name, paths in found.items()
    }
    assert files == {"norm": ["measures/fit.py", "measures/size.py", "theory/norms.py"], "alone": [], "itself": []}
