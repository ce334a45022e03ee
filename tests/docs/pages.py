"""The hand-written pages as data: their code blocks, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
HAND_WRITTEN = [README, CONTRIBUTING, ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page that are in `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    """Every command line of a page, as words without their comments."""
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]
