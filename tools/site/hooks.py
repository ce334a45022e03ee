"""Hooks of mkdocs: add the generated pages, typeset formulas, and make links of the repository those of the site."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from mkdocs.structure.files import File, Files

from tools.site import markdown, pages

UNNAMED = re.compile(r'(<label class="md-nav__link [^>]*id="(__nav_\w+)_label")(?=[^>]*tabindex)')
"""The button of the theme that unfolds a part of the navigation whose name is a link beside it, and so has no text of its own."""


def on_config(config: Any, **_: Any) -> Any:
    """Put every notebook into the navigation, below "Learn"."""
    (learn,) = [part["Learn"] for part in config.nav if "Learn" in part]
    learn.append({"Notebooks": [f"notebooks/{path.stem}.md" for path in pages.notebook_files()]})
    return config


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add generated pages, and the files of the repository that pages link to."""
    wanted: set[str] = set()
    for path, content in pages.generated():
        files.append(File.generated(config, path, content=content))
    for file in files.documentation_pages():
        wanted |= _relinked(file.content_string, file.src_uri)[1]
    for path in sorted(wanted):
        content = (pages.ROOT / path).read_bytes()
        files.append(File.generated(config, markdown.AS_TEXT.format(path), content=content))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    return markdown.typeset(_relinked(text, page.file.src_uri)[0])


def on_post_page(output: str, **_: Any) -> str:
    """Name what screen readers would find without a name, after the title of the part that it unfolds."""

    def named(found: re.Match[str]) -> str:
        title = re.search(rf'<label class="md-nav__title" for="{found[2]}">\s*<span[^>]*></span>([^<]*)', output)
        return found[0] if title is None else f'{found[1]} aria-label="{title[1].strip()}"'

    return UNNAMED.sub(named, output)


def _relinked(text: str, page: str) -> tuple[str, set[str]]:
    roots = {place: name for name, place in markdown.AT_THE_ROOT.items() if place != "index.md"}
    return markdown.relinked(text, page, roots.get(page, posixpath.join("docs", page)), pages.ROOT)
