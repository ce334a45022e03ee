"""Notebooks as pages: cells of text as they are, cells of code as blocks, with the outputs that are stored."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
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


def _text(output: dict[str, Any]) -> str:
    """What an output shows as text."""
    found = output.get("text") or output.get("data", {}).get("text/plain") or ""
    return ("".join(found)).rstrip()
