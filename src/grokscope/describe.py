"""Descriptions of registry entries, taken from the docstrings of classes and fields, so that help and docs match the code."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from .settings import Settings


def field_docs(settings: type[Settings]) -> dict[str, str]:
    """The docstring of each field, for a class and its bases."""
    return dict(_field_docs(settings))  # type: ignore[arg-type]


@functools.cache
def _field_docs(settings: type[Any]) -> dict[str, str]:
    """The same; parsing source code is slow, so each class is parsed once."""
    docs: dict[str, str] = {}
    for cls in reversed(settings.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        except (OSError, TypeError):  # made from a plain nn.Module
            continue
        assert isinstance(tree, ast.ClassDef)
        for field, doc in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(doc):
                docs[field.target.id] = " ".join(ast.literal_eval(doc.value).split())  # type: ignore[attr-defined]
    return docs


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def first_line(thing: Any) -> str:
    """The first line of a docstring; for a function without one, of its module's."""
    doc = (
        (inspect.getdoc(thing) if not isinstance(thing, type) else thing.__doc__)
        or inspect.getdoc(inspect.getmodule(thing))
        or ""
    )
    return doc.strip().splitlines()[0] if doc.strip() else ""


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
    plain: dict[str, Any] = {"name": name, "about": first_line(thing)}
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
            rows.append({"name": f.name, "default": defaults[f.name], "meaning": docs.get(f.name, "")})
            continue
        kinds = held.registry.entries() if held.registry is not None else {"": held.default}
        if held.registry is not None:
            meaning = f"{docs.get(f.name, '')} One of {', '.join(kinds)}.".strip()
            rows.append({"name": f.name, "default": held.default.kind, "meaning": meaning})
        for inner, owners in _by_owner({kind: settings_of(cls) for kind, cls in kinds.items()}):
            only = f"({', '.join(owners)}) " if len(owners) < len(kinds) else ""
            rows.append({**inner, "name": f"{f.name}.{inner['name']}", "meaning": only + inner["meaning"]})
    return rows


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
