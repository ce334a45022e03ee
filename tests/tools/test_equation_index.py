"""The index of equations is complete, correct, typeset, and would notice if it were not."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.mathtext import MathTextParser

from grokscope.papers import all_equations
from tools.equation_index import PAGE, ROOT, TABLE, MarkedTest, main, marked_tests, problems


def test_nothing_is_missing_and_nothing_is_stale(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("equation", all_equations(), ids=lambda e: e.name)
def test_formulas_are_typeset(equation) -> None:
    tex = re.sub(r"\\[lr]([Vv]ert)", r"\\\1", equation.tex)  # matplotlib has no left and right bars
    MathTextParser("path").parse(f"${tex}$")
    assert not re.search(r"\\[^a-zA-Z]|\*", equation.tex), "GitHub eats a backslash before punctuation, and stars"


TEST = """
import pytest
from hypothesis import given
from grokscope.theory import (kl_logit_gradient)

@pytest.mark.equation("structural-inference", "45")
def test_by_hand():
    assert kl_logit_gradient

@pytest.mark.equation("structural-inference", "45", "99")
@given(seed=1)
def test_at_random(seed):
    assert True

def test_of_nothing():
    assert kl_logit_gradient
"""


@pytest.fixture
def written(tmp_path: Path) -> list[MarkedTest]:
    (tmp_path / "test_some.py").write_text(TEST)
    return marked_tests([tmp_path], tmp_path)


def test_marks_are_read_from_the_tests(written: list[MarkedTest]) -> None:
    assert [(c.test.split("::")[1], c.numbers, c.random) for c in written] == [
        ("test_by_hand", ("45",), False),
        ("test_at_random", ("45", "99"), True),
    ]


def test_what_is_wrong_is_said(written: list[MarkedTest]) -> None:
    (known,) = [e for e in all_equations() if e.name == "kl_logit_gradient"]
    said = problems([known], written)
    where = written[1].test
    assert said == [
        f"{where} is marked with structural-inference 45 but does not call kl_logit_gradient",
        f"{where} is marked with structural-inference 99, which no function has",
    ]
    assert problems([known], written[:1]) == ["structural-inference 45 (kl_logit_gradient): no property test"]
    assert problems([known], [])[0].endswith("no test with a case computed by hand")


def test_a_stale_page_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    for name, path in (("PAGE", PAGE), ("TABLE", TABLE)):
        copy = tmp_path / path.name
        copy.write_text(path.read_text() + " ")
        monkeypatch.setattr(f"tools.equation_index.{name}", copy)
    monkeypatch.setattr("tools.equation_index.ROOT", tmp_path)
    assert main(["--check"]) == 1
    assert capsys.readouterr().err.count("is stale") == 2
    assert main([]) == 0 and main(["--check"]) == 0


def test_every_test_that_the_index_names_exists() -> None:
    for row in json.loads(TABLE.read_text()):
        for test in row["tested"]:
            path, name = test.split("::")
            functions = [n.name for n in ast.parse((ROOT / path).read_text()).body if isinstance(n, ast.FunctionDef)]
            assert name in functions


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grokscope", "equations", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_lists_every_equation() -> None:
    table = json.loads(run("--json").stdout)
    assert {(r["paper"], *r["numbers"]) for r in table} == {(e.paper, *e.numbers) for e in all_equations()}
    assert all({"statement", "function", "used_by", "tested", "tightest_ratio"} <= set(row) for row in table)


def test_the_command_shows_one() -> None:
    shown = run("45").stdout
    assert (
        "    used by: src/grokscope/papers/structural_inference/equations/acceleration.py, src/grokscope/priors/noise.py"
        in shown
    )
    assert "grokscope.theory.kl_logit_gradient" in shown and "tests/theory/test_attention.py::" in shown
    assert shown.startswith("structural-inference 45\n")


def test_the_command_says_what_it_does_not_know() -> None:
    result = run("unheard-of")
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and "unheard-of" in result.stderr


def test_the_page_says_that_formulas_are_restored_and_what_fails_in_that_form_only() -> None:
    top, refuted, restored, *_ = PAGE.read_text().split("\n## ")
    assert "the formulas are restored" in top
    assert re.findall(r"^\| \[(.*?)\]", refuted, re.MULTILINE) == ["28", "5, 40", "52"]
    assert restored.startswith("Not true in the form restored here")
    assert [number in restored for number in ("[50, Lemma D.1]", "[7, 53]", "[Prop. B.2, AdamW]")] == [True] * 3
    assert not any(e.refuted and e.fails_as_restored for e in all_equations())
