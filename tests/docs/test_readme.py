"""What the README says can be done: its commands run, its grid and its Python too, and what it names exists."""

import importlib
import re
import sys

import pytest
import torch
import typer
from pages import CONTRIBUTING, DOCS, HAND_WRITTEN, README, ROOT, blocks, commands

from grokscope.cli import main
from grokscope.cli.app import app
from grokscope.cli.front import register
from grokscope.cli.listing import COMPONENTS

TINY = [
    *("--set", "epochs=2", "--set", "log.every=1", "--set", "model.d=8", "--set", "model.d_mlp=16"),
    *("--set", "task.train_size=40", "--set", "task.test_size=40", "--seeds", "1", "--device", "cpu", "--quiet"),
]
"""Appended to every training command: later words win."""


def test_every_command_parses():
    register()
    parsers = typer.main.get_command(app).commands
    seen = set()
    for page in HAND_WRITTEN:
        for program, *words in commands(page):
            if program == "grokscope":
                name, *rest = words[2:] if words[0] == "--load" else words
                parsers[name].make_context(name, rest)  # raises where an option or its value is wrong
                seen.add(name)
    assert {"demo", "train", "sweep", "runs", "report", "list", "bench"} <= seen


def test_the_commands_work_one_after_another(tmp_path, monkeypatch, capsys):
    """All but the demo, the bench and whole experiments, which no setting makes small, on a few examples for two epochs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(DOCS)
    (tmp_path / "results").symlink_to(ROOT / "results")
    (grid,) = blocks(README, "toml")
    (tmp_path / grid.split()[1]).write_text(grid, encoding="utf-8")
    done = set()
    for program, *words in commands(README):
        if (
            program != "grokscope"
            or words[0] in ("demo", "bench", "--load")
            or (words[:1] == ["reproduce"] and words[1:])
        ):
            continue
        words += TINY if words[0] in ("train", "sweep") else []
        monkeypatch.setattr(sys, "argv", ["grokscope", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert stop.value.code == 0, printed.err
        assert printed.out.strip(), words
        done.add(words[0])
    assert done == {"train", "sweep", "report", "runs", "reproduce", "claims"}
    assert (tmp_path / "fig3.html").stat().st_size > 10_000


def test_what_is_loaded_is_explained_on_a_page():
    (loaded,) = [words for words in commands(README) if "--load" in words]
    assert any(words[: len(loaded)] == loaded for words in commands(DOCS / "adding-a-task.md"))


def test_the_table_of_runs_is_read_from_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = blocks(README, "python")[0]
    assert code.count("epochs=1500") == 1
    names = {}
    exec(compile(code.replace("epochs=1500", "epochs=2"), "README.md", "exec"), names)
    assert set(names["table"]["seed"]) == {0, 1, 2}
    assert names["table"]["epoch"].max() == 2
    assert "mlp_norm" in capsys.readouterr().out


def test_a_network_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    torch.manual_seed(0)
    exec(compile(blocks(README, "python")[1], "README.md", "exec"), names)
    first, last = names["scope"].rows
    assert last["D"] < first["D"] and last["train_loss"] < first["train_loss"]
    assert (tmp_path / "mine.html").stat().st_size > 10_000


def test_every_make_target_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = {words[1] for page in (README, CONTRIBUTING) for words in commands(page) if words[0] == "make"}
    assert {"demo", "test", "check"} <= asked <= targets


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_entry_named_in_the_table_exists(component):
    (row,) = re.findall(rf"^\| {component} \|[^|]*\|(.*)\|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    named = set(re.findall(r"`([\w-]+)`", row))
    registry = getattr(importlib.import_module(f"grokscope.{COMPONENTS[component]}"), component)
    assert named
    assert named <= set(registry.entries())
