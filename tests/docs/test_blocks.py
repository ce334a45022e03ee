"""No code block on any page is left out: each is in a language that is run, and every Python block runs."""

import contextlib
import io
import subprocess
import sys

import pytest
from pages import CONTRIBUTING, DOCS, HAND_WRITTEN, README, blocks, fences, name_of

RUN = {"sh", "python", "toml"}
SHOWN = {"text", "console", "python skip"}
"""Output, sessions on a cluster, whose commands must parse, and excerpts that need packages or data of the reader's own; these must
compile."""
ELSEWHERE = {
    *DOCS.glob("adding-*.md"),  # test_examples.py
    DOCS / "on-your-own-network.md",  # test_examples.py
    DOCS / "python.md",  # test_python_page.py
    DOCS / "tutorial.md",  # its measure by test_commands.py, its verdict below
    DOCS / "theory-notes.md",  # an excerpt about runs that take minutes; below
    README,  # test_readme.py
    CONTRIBUTING,  # test_examples.py
}
SCRIPTS = [page for page in HAND_WRITTEN if blocks(page, "python") and page not in ELSEWHERE]
PRINTED = {
    "docs/concepts/divergence.md": ["0.916"],
    "docs/concepts/times.md": ["100 300"],
    "docs/concepts/clocks.md": ["first 50", "held 150", "stable 150"],
    "docs/concepts/censoring.md": ["885.0"],
    "docs/concepts/phases.md": ["Memorisation", "Plateau: lasted", "Resurgence: none", "Grokking"],
}
"""What the script of a page must print, as the page says."""


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=name_of)
def test_every_block_is_in_a_known_language(page):
    assert set(fences(page)) <= RUN | SHOWN
    for code in blocks(page, "python skip"):
        compile(code, name_of(page), "exec")


@pytest.mark.parametrize("page", SCRIPTS, ids=name_of)
def test_the_scripts_of_a_page_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(DOCS)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for code in blocks(page, "python"):
            exec(compile(code, name_of(page), "exec"), {})
    wanted = PRINTED[name_of(page)]
    assert all(text in out.getvalue() for text in wanted), out.getvalue()


def test_the_tutorial_ends_with_a_verdict(tmp_path):
    """On runs of a few epochs, which have not grokked; the numbers on the page are those of tools/readme_page.py."""
    page = DOCS / "tutorial.md"
    (grid,), (measure, verdict) = blocks(page, "toml"), blocks(page, "python")
    (tmp_path / "distractors.toml").write_text(grid, encoding="utf-8")
    (tmp_path / "astray.py").write_text(measure, encoding="utf-8")
    small = ["--set", "epochs=40", "--set", "log.every=20", "--set", "model.d=16", "--set", "model.d_mlp=32", "--quiet"]
    sweep = ["--load", "astray.py", "sweep", "distractors.toml", "--runs", "distractors", "--device", "cpu", *small]
    subprocess.run([sys.executable, "-m", "grokscope", *sweep], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([sys.executable, "-c", verdict], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *_, one, four, twelve, last = done.stdout.splitlines()
    for line, alphabet in ((one, "1"), (four, "4"), (twelve, "12")):
        *words, astray = line.split()
        assert words == [alphabet, "6", "6", "NaN"] and 0 < float(astray) < 1
    assert last == "12 symbols against 1: p = 1.000"


def test_the_excerpt_of_the_notes_on_the_theory_fits_the_table(tmp_path):
    import pandas as pd

    import grokscope

    (code,) = blocks(DOCS / "theory-notes.md", "python")
    table = pd.DataFrame({"run": ["a", "a", "b"], "epoch": [1, 2, 3], "D": [0.5, 0.05, 0.01]})
    *before, last = code.strip().splitlines()
    names = {"grokscope": type("stub", (), {"load_runs": staticmethod(lambda _: table)})}
    exec("\n".join(before), names)
    assert eval(last, names).to_dict() == {"a": 2, "b": 3}
    assert callable(grokscope.load_runs)
