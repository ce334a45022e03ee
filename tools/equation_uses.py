"""Which files of the package call which equation, read from their source."""

from __future__ import annotations

import ast
from pathlib import Path

from grokscope.theory.equations import Equation

PACKAGE = "grokscope"


def uses(source: Path, known: list[Equation]) -> dict[str, list[Path]]:
    """By the name of an equation, the files under `source` that use it, its own included if another function there does.

    `source` is the folder that holds the package. A re-export in `__init__.py` does not count as a use.
    """
    home = {e.name: module_file(source, e.function.__module__) for e in known}
    packages = {module_package(source, path) for path in home.values()}
    found: dict[str, list[Path]] = {name: [] for name in home}
    for path in sorted((source / PACKAGE).rglob("*.py")):
        if path.name == "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        reads = names_read(tree)
        here = {name: name for name, own in home.items() if own == path}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                origin = resolved(source, path, node)
                if origin in packages or origin.rpartition(".")[0] in packages:
                    here |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in home}
        for local, name in here.items():
            if any(local in read for function, read in reads.items() if function != local):
                found[name].append(path)
    return found


def names_read(tree: ast.Module) -> dict[str, set[str]]:
    """The names that each top-level function or class of a module reads; under "" those that the module itself reads."""
    reads: dict[str, set[str]] = {}
    for node in tree.body:
        own = getattr(node, "name", "")
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        reads[own] = reads.get(own, set()) | names
    return reads


def module_file(source: Path, module: str) -> Path:
    """grokscope.theory.norms → source/grokscope/theory/norms.py"""
    return source.joinpath(*module.split(".")).with_suffix(".py")


def module_package(source: Path, path: Path) -> str:
    """source/grokscope/theory/norms.py → grokscope.theory"""
    return ".".join(path.relative_to(source).parent.parts)


def resolved(source: Path, path: Path, node: ast.ImportFrom) -> str:
    """The full name of the module that an import in a file names, absolute or relative."""
    if not node.level:
        return node.module or ""
    package = path.relative_to(source).parent.parts
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
