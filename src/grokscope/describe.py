"""Descriptions of registry entries, taken from the docstrings of classes and fields, so that help and docs match the code."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import os
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from .settings import Settings

SENTENCE_ENDS = (".", "?", "!", ".)")


def field_docs(settings: type[Any]) -> dict[str, str]:
    """The docstring of each field, for a class and its bases."""
    return dict(_field_docs(settings))  # type: ignore[arg-type]


@functools.cache
def _field_docs(settings: type[Any]) -> dict[str, str]:
    """The same; parsing source code is slow, so each class is parsed once."""
    docs: dict[str, str] = {}
    for cls in reversed(settings.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        tree = _class_tree(cls)
        if tree is None:
            continue
        for field, doc in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(doc):
                docs[field.target.id] = " ".join(ast.literal_eval(doc.value).split())  # type: ignore[attr-defined]
    return docs


def _class_tree(cls: type[Any]) -> ast.ClassDef | None:
    """The definition of a class; None if it has no source, as one made from a plain nn.Module.

    `inspect.getsource` parses the whole file for every class: here a file with several classes is parsed once.
    """
    try:
        file = inspect.getsourcefile(cls)
        if file is not None and os.path.isfile(file):
            return _classes_in(file, os.stat(file).st_mtime_ns).get(cls.__qualname__)
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body  # typed into a notebook
    except (OSError, TypeError, SyntaxError):
        return None
    return tree if isinstance(tree, ast.ClassDef) else None


@functools.cache
def _classes_in(file: str, changed: int) -> dict[str, ast.ClassDef]:
    """The classes of a file by name, those inside classes and functions too.

    changed   time of the last change, so that an edited file is read again
    """
    found: dict[str, ast.ClassDef] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found[f"{prefix}{child.name}"] = child
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                visit(child, f"{prefix}{child.name}.<locals>.")
            else:
                visit(child, prefix)

    with open(file, encoding="utf-8") as source:
        visit(ast.parse(source.read()), "")
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def opening(thing: Any) -> str:
    """The first line of a docstring, with the next ones if its sentence goes on there; for a function without one, of its
    module's."""
    doc = (
        (inspect.getdoc(thing) if not isinstance(thing, type) else inspect.cleandoc(thing.__doc__ or ""))
        or inspect.getdoc(inspect.getmodule(thing))
        or ""
    )
    lines: list[str] = []
    for line in doc.strip().splitlines():
        if not line.strip():
            break
        lines.append(line.strip())
        if line.rstrip().endswith(SENTENCE_ENDS):
            break
    return " ".join(lines)


def listed_terms(thing: Any) -> dict[str, str]:
    """The terms that a docstring lists, one per line and two spaces or more before their meaning; lines that are indented further
    continue it. A measure lists its columns so."""
    terms: dict[str, str] = {}
    last = ""
    for line in (inspect.getdoc(thing) or "").splitlines():
        if found := re.fullmatch(r"([A-Za-z][\w{}]*) {2,}(\S.*)", line):
            last = found[1]
            terms[last] = found[2]
        elif last and line.startswith("  "):
            terms[last] += f" {line.strip()}"
        else:
            last = ""
    return terms


def entry(name: str, thing: Any) -> dict[str, Any]:
    """One registry entry as plain data: name, what it is, and its settings with defaults and meanings."""
    plain: dict[str, Any] = {"name": name, "about": opening(thing)}
    if isinstance(thing, type) and issubclass(thing, Settings):
        plain["settings"] = settings_of(thing)
    return plain


def settings_of(settings: type[Settings]) -> list[dict[str, Any]]:
    """Every setting of a class as name, default and meaning.

    A component is followed by the settings of its kinds under their dotted names; a setting that only some kinds have lists them.
    """
    docs, defaults = field_docs(settings), settings().to_dict()
    rows: list[dict[str, Any]] = []
    for f in dataclasses.fields(settings):
        held = settings.component_fields().get(f.name)
        if held is None:
            meaning, choices = docs.get(f.name, ""), settings.choices(f.name)
            if any(_unsaid(choice, meaning) for choice in choices):
                meaning = f"{meaning} {_one_of(choices)}"
            rows.append({"name": f.name, "default": defaults[f.name], "meaning": meaning})
            continue
        kinds = held.registry.entries() if held.registry is not None else {"": held.default}
        if held.registry is not None:
            meaning = f"{docs.get(f.name, '')} {_one_of(kinds)}".strip()
            rows.append({"name": f.name, "default": held.default.kind, "meaning": meaning})
        for inner, owners in _by_owner({kind: settings_of(cls) for kind, cls in kinds.items()}):
            only = f"({', '.join(owners)}) " if len(owners) < len(kinds) else ""
            rows.append({**inner, "name": f"{f.name}.{inner['name']}", "meaning": only + inner["meaning"]})
    return rows


def _unsaid(choice: str, meaning: str) -> bool:
    """Whether a meaning does not name a choice, as it is written."""
    return re.search(rf"(?<![\w-]){re.escape(choice)}(?![\w-])", meaning) is None


def _one_of(names: Iterable[str]) -> str:
    return f"One of {', '.join(names)}."


def _by_owner(kinds: Mapping[str, list[dict[str, Any]]]) -> list[tuple[dict[str, Any], list[str]]]:
    """Distinct settings of several kinds, each with the kinds that have it."""
    found: list[tuple[dict[str, Any], list[str]]] = []
    for kind, rows in kinds.items():
        for row in rows:
            owners = next((names for known, names in found if known == row), None)
            if owners is None:
                found.append((row, [kind]))
            else:
                owners.append(kind)
    return found


def meanings(settings: Settings) -> dict[str, str]:
    """The meaning of every setting by dotted name, as in the flattened config."""
    docs = field_docs(type(settings))
    for name, held in settings.components().items():
        docs |= {f"{name}.{own}": meaning for own, meaning in meanings(held).items()}
    return docs
