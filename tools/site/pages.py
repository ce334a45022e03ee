"""Which pages are made when the site is built, and from what."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("structural-inference", "grokking-tickets", "inductive-bias")
REFERENCE = """# Reference

Generated from the docstrings of the code when the site is built.

- [Commands](cli.md): every command with its arguments and options.
- [Components](components.md): everything that can be chosen by name.
- [Settings](settings.md): every setting of a run, its default and its meaning.
- [Columns](columns.md): what the tables of runs hold.
- [Python](python.md): the names that `import grokscope` gives.
"""
GENERATED = (
    *(f"reference/{name}.md" for name in ("index", "cli", "components", "settings", "columns", "python")),
    *(f"papers/{name}.md" for name in ("index", *PAPERS)),
    *("contributing.md", "changelog.md"),
)
"""Paths of the generated pages in the site; notebooks become pages too."""


def generated() -> Iterator[tuple[str, str | bytes]]:
    """Path and content of each page, and of the pictures on it."""
    from . import commands, components, notebooks, python, settings
    from .papers import PaperPages

    yield "reference/index.md", REFERENCE
    yield "reference/cli.md", commands.commands_page()
    yield "reference/components.md", components.components_page()
    yield "reference/settings.md", settings.settings_page()
    yield "reference/columns.md", settings.columns_page()
    yield "reference/python.md", python.python_page()
    for name in ("contributing", "changelog"):
        yield f"{name}.md", (ROOT / f"{name.upper()}.md").read_text(encoding="utf-8")
    whole = os.environ.get("GROKSCOPE_SITE_PICTURES", "1") != "0"  # most of the time goes into pictures and notebooks
    papers = PaperPages(pictures=whole)
    yield "papers/index.md", papers.index()
    yield "claims.md", papers.claims()
    for paper in PAPERS:
        text, pictures = papers.page(paper)
        yield f"papers/{paper}.md", text
        yield from ((f"papers/{name}", picture) for name, picture in pictures.items())
    for path in notebook_files():
        text, pictures = notebooks.notebook_page(path, execute=whole and notebooks.KERNEL)
        yield f"notebooks/{path.stem}.md", text
        yield from ((f"notebooks/{name}", picture) for name, picture in pictures.items())


def notebook_files() -> list[Path]:
    return sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
