"""The notebooks run from top to bottom, and end with what their text says.

They are executed by a kernel where nbclient and ipykernel are installed (`grokscope[docs]`, as in CI), else cell by cell in a
process of their own.
"""

import ast
import importlib.util
import json
import subprocess
import sys

import pytest
from pages import DOCS

import grokscope

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
KERNEL = all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel"))

WORKER = """
import ast, json, sys
names = {"__name__": "__main__"}
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        print("figure" if hasattr(value, "_repr_png_") and value._repr_png_() else value)
"""


def cells(path):
    """The sources of the code cells."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def execute(path, folder):
    """Everything that the notebook prints or shows; a picture is the word figure."""
    if not KERNEL:
        done = subprocess.run(
            [sys.executable, "-c", WORKER], input=json.dumps(cells(path)), cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        shown.append("figure\n" if "image/png" in data else output.get("text", "") or data.get("text/plain", ""))
    return "".join(shown)


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["first-look", "watch-your-model", "your-own-experiment"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_small_and_stored_without_output(path):
    assert path.stat().st_size < 20_000
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    assert notebook["cells"][0]["cell_type"] == "markdown"
    for source in cells(path):
        ast.parse(source)


def test_first_look(tmp_path):
    printed = execute(DOCS / "notebooks" / "first-look.ipynb", tmp_path)
    assert "task.modulus: no such setting." in printed
    assert printed.count("figure\n") == 2
    assert "seed 0 has grokked; it stops at epoch " in printed
    runs = grokscope.list_runs(tmp_path / "runs")
    times = {name: [run.summary["t_grok"] for run in runs if run.name == name] for name in ("no hint", "a hint")}
    assert [len(own) for own in times.values()] == [3, 3]
    assert None not in [*times["no hint"], *times["a hint"]]
    assert sorted(times["a hint"])[1] < sorted(times["no hint"])[1]  # the medians


def test_your_own_experiment(tmp_path):
    printed = execute(DOCS / "notebooks" / "your-own-experiment.ipynb", tmp_path)
    assert printed.count("figure\n") == 3
    assert "With more wrong labels generalisation comes later (z = -" in printed
    table = grokscope.load_runs(tmp_path / "runs")
    assert table["run"].nunique() == 9
    assert table["test_confidence"].between(1 / 31, 1).all()


def test_watch_your_model(tmp_path):
    printed = execute(DOCS / "notebooks" / "watch-your-model.ipynb", tmp_path)
    assert "Net: sdpa" in printed
    assert printed.count("figure\n") == 1
    assert (tmp_path / "mine.html").exists()
    assert grokscope.load_runs(tmp_path / "runs")["run"].nunique() == 2
