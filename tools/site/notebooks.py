"""Notebooks as pages: cells of text as they are, cells of code as blocks, with what they print and draw.

They are stored without output, so a copy is executed when the site is built; nothing is written into the repository.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import tempfile
from pathlib import Path
from typing import Any

KERNEL = all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel"))
"""Whether notebooks can be executed here."""
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Colours and moves of a terminal."""


def notebook_page(path: Path, *, execute: bool = False) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name.

    execute   run it first, in a folder of its own; without it, the outputs are those that are stored
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    text = path.read_text(encoding="utf-8")
    for cell in _executed(text) if execute else json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                if picture := output.get("data", {}).get("image/png"):
                    name = f"{path.stem}-{len(pictures) + 1}.png"
                    pictures[name] = base64.b64decode(picture)
                    parts.append(f"![Output of the cell above]({name})")
                elif text := _text(output):
                    parts.append(f"```text\n{text}\n```")
    parts.append(f"[Download the notebook]({path.name}){{ download }}")
    return "\n\n".join(parts) + "\n", pictures


def _executed(notebook: str) -> list[dict[str, Any]]:
    """The cells with what they print and draw now."""
    import nbclient
    import nbformat

    copy = nbformat.reads(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(copy, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return list(copy.cells)


def _text(output: dict[str, Any]) -> str:
    """What an output shows as text."""
    found = output.get("text") or output.get("data", {}).get("text/plain") or ""
    return ESCAPES.sub("", "".join(found)).rstrip()
