"""The hand-written pages as data: their code blocks, and the command lines in them."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
HAND_WRITTEN = [README, CONTRIBUTING, ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
PROGRAMS = ("grokscope", "make", "pip", "docker", "ssh")
"""What the blocks of commands call; nothing else is there when they are read."""
BETWEEN_WORDS, BETWEEN_CALLS = "\x1f", "\x1e"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path) -> list[str]:
    """What stands behind the opening fence of every block."""
    return re.findall(r"^```(.*)$\n(?:.*\n)*?^```$", page.read_text(encoding="utf-8"), re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page that are in `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@cache
def commands(page: Path) -> list[list[str]]:
    """Every command that the blocks of a page run, as words: bash reads them, and the programs only note their words."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "noted")
        noted.touch()
        for program in PROGRAMS:
            script = Path(folder, program)
            note = f"printf '%s\\x1f' {program} \"$@\" >> {noted}; printf '\\x1e' >> {noted}"
            script.write_text(f"#!/bin/bash\n{note}\n", encoding="utf-8")
            script.chmod(0o755)
        text = "".join(blocks(page, "sh"))
        shell = ["bash", "-eu", "-o", "pipefail", "-c", text]
        done = subprocess.run(
            shell, env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}, cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{name_of(page)}: {done.stderr}"
        calls = noted.read_text(encoding="utf-8").split(BETWEEN_CALLS)[:-1]
    return [call.split(BETWEEN_WORDS)[:-1] for call in calls]
