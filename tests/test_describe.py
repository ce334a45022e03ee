"""Meanings of settings, from the docstrings of fields: of classes at any depth of a file, and of classes without source."""

import dataclasses
import importlib.util
import os
import sys

from grokscope.config.watch import Log, Stop
from grokscope.describe import field_docs
from grokscope.settings import Settings


def test_a_class_inside_a_function_and_its_bases():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Own(Log):
        mine: int = 1
        """Of my own."""

    assert field_docs(Own) == field_docs(Log) | {"mine": "Of my own."}
    assert set(field_docs(Log)) - set(field_docs(Settings)) == {"every", "dense", "keep"}
    assert set(field_docs(Stop)) - set(field_docs(Settings)) == {"accuracy", "window", "extend"}


def test_a_class_without_source_has_no_meanings():
    made = dataclasses.make_dataclass("Made", [("n", int, 3)], bases=(Settings,), frozen=True, kw_only=True)
    assert field_docs(made) == field_docs(Settings)


def test_a_file_that_was_edited_is_read_again(tmp_path, monkeypatch):
    file = tmp_path / "own.py"
    code = (
        "from dataclasses import dataclass\nfrom grokscope.settings import Settings\n\n\n"
        '@dataclass(frozen=True, kw_only=True)\nclass Own(Settings):\n    n: int = 1\n    """{}"""\n'
    )

    def load(meaning, at):
        """The class, imported from a file that was last changed at this time."""
        file.write_text(code.format(meaning))
        os.utime(file, (at, at))
        spec = importlib.util.spec_from_file_location(f"own_{at}", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module.Own

    assert field_docs(load("First.", 1))["n"] == "First."
    assert field_docs(load("Second.", 2))["n"] == "Second."
