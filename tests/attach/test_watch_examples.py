"""The examples of docs/examples and the notebook run, and tell the known story: with the prior, test accuracy rises sooner."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import grokscope

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("watch_*.py"))
NEEDS = {
    "gpt2": ("transformers", "hf"),
    "llama": ("transformers", "hf"),
    "trainer": ("accelerate", "hf"),
    "lens": ("transformer_lens", "lens"),
    "lightning": ("lightning", "lightning"),
}


def needs(package, extra):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs grokscope[{extra}]")


def test_all_examples_are_here():
    assert {path.stem.removeprefix("watch_") for path in EXAMPLES} == {"sdpa", "encoder", *NEEDS}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example(path, tmp_path):
    name = path.stem.removeprefix("watch_")
    if name in NEEDS:
        needs(*NEEDS[name])
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    table = grokscope.load_runs(tmp_path / "runs" / name)
    last = table.groupby("prior.beta")[["epoch", "train_accuracy", "test_accuracy", "D"]].last()
    assert list(last.index) == [0.0, 1.0] and (last["epoch"] == 225).all()
    assert last["test_accuracy"][1.0] > 0.7 > 0.5 > last["test_accuracy"][0.0]
    assert last["D"][1.0] < 0.05 < last["D"][0.0]
    page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    assert "β = 1" in page and page.count("<figure") == 5
