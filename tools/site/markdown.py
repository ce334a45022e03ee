"""Markdown of the repository made fit for the site: formulas, and links to files that are not pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from .mathml import mathml

CODE = re.compile(r"(^(`{3,}|~{3,}).*?^\2[ \t]*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
"""Fenced blocks and code within a line: neither formulas nor links."""
DISPLAYED, INLINE = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.MULTILINE | re.DOTALL), re.compile(r"\$([^$\n]+)\$")
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
AT_THE_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the site by the file in the root of the repository."""
AS_TEXT = "source/{}.txt"
"""Where a file of the repository that a page links to is in the site: with an ending that browsers show."""


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """`text` with everything that is not code changed."""
    parts = CODE.split(text)  # text, code, fence, text, code, fence, …
    return "".join(
        change(part) if place % 3 == 0 else part if place % 3 == 1 else "" for place, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """Text of a docstring within a line of Markdown or a cell of a table: a star is a star, as in α*, and code stays code.

    A bar within code ends no cell, and a backslash before it would be shown.
    """
    return outside_code(" ".join(text.split()), lambda part: re.sub(r"([*_|])", r"\\\1", part).replace("<", "&lt;"))


def typeset(text: str) -> str:
    """Formulas between dollars as MathML."""

    def change(part: str) -> str:
        part = DISPLAYED.sub(lambda found: mathml(found[1], display=True), part)
        return INLINE.sub(lambda found: mathml(found[1]), part)

    return outside_code(text, change)


def relinked(text: str, page: str, at: str, root: Path) -> tuple[str, set[str]]:
    """Links of a page of the repository as those of the site, and the files that they lead to and that are not pages.

    page    path of the page in the site, such as concepts/times.md
    at      its path in the repository, such as docs/concepts/times.md
    root    of the repository; a link to no file in it stays as it is, and mkdocs reports it
    """
    wanted: set[str] = set()

    def follow(found: re.Match[str]) -> str:
        target = found[2]
        if "://" in target or target.startswith(("mailto:", "/")):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(at), target))
        if path in AT_THE_ROOT:
            place = AT_THE_ROOT[path]
        elif path.startswith("docs/"):
            place = path.removeprefix("docs/")
            place = f"{place.removesuffix('.ipynb')}.md" if place.endswith(".ipynb") else place
        elif (root / path).is_file():
            wanted.add(path)
            place = AS_TEXT.format(path)
        else:
            return found[0]
        return f"{found[1]}{posixpath.relpath(place, posixpath.dirname(page) or '.')}{found[3]}"

    return outside_code(text, lambda part: LINK.sub(follow, part)), wanted
