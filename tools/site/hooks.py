"""Hooks of mkdocs: add the generated pages, typeset formulas, and make links of the repository those of the site."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from grokscope.experiments.base import PAPERS
from tools.site import commands, markdown, notebooks, python, settings
from tools.site.papers import PaperPages

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = """# Reference

Generated from the docstrings of the code when the site is built.

- [Commands](cli.md): every command with its arguments and options.
- [Settings](settings.md): every setting of a run, its default and its meaning.
- [Columns](columns.md): what the tables of runs hold.
- [Python](python.md): the names that `import grokscope` gives.
"""


def generated() -> dict[str, str | bytes]:
    """Pages and pictures that are made when the site is built, by their path in it."""
    papers = PaperPages()
    made: dict[str, str | bytes] = {
        "reference/index.md": REFERENCE,
        "reference/cli.md": commands.commands_page(),
        "reference/settings.md": settings.settings_page(),
        "reference/columns.md": settings.columns_page(),
        "reference/python.md": python.python_page(),
        "papers/index.md": papers.index(),
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    for paper in PAPERS:
        made[f"papers/{paper}.md"], pictures = papers.page(paper)
        made |= {f"papers/{name}": picture for name, picture in pictures.items()}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        made[f"notebooks/{path.stem}.md"], pictures = notebooks.notebook_page(path)
        made |= {f"notebooks/{name}": picture for name, picture in pictures.items()}
    return made


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add generated pages, and the files of the repository that pages link to."""
    wanted: set[str] = set()
    for path, content in generated().items():
        files.append(File.generated(config, path, content=content))
    for file in files.documentation_pages():
        wanted |= _relinked(file.content_string, file.src_uri)[1]
    for path in sorted(wanted):
        content = (ROOT / path).read_bytes()
        files.append(File.generated(config, markdown.AS_TEXT.format(path), content=content))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    return markdown.typeset(_relinked(text, page.file.src_uri)[0])


def _relinked(text: str, page: str) -> tuple[str, set[str]]:
    roots = {place: name for name, place in markdown.AT_THE_ROOT.items() if place != "index.md"}
    return markdown.relinked(text, page, roots.get(page, posixpath.join("docs", page)), ROOT)

