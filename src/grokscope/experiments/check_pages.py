"""Whether the pages say what the results say: docs/claims.md, the gallery, and sentences that name a claim.

A sentence about a result ends with its claim and verdict, `[si-fig3/accelerates: agrees in part]`; it may link to docs/claims.md.
The verdict must be the ledger's, and every number of the sentence must be in the ledger's row.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import nearest
from .cards import card, counts_table, ledger_row
from .claims_page import claims_page
from .ledger import Ledger

NAMED = re.compile(r"\[([a-z0-9]+-[a-z0-9-]+/[a-z0-9-]+)(?:: ([a-z ]+))?\](?:\([^)]*\))?")
NUMBER = re.compile(r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?(?![\w/]|[.,]\d)")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*|#])")


def disagreements(ledger: Ledger, rows: Sequence[dict[str, Any]], root: Path) -> list[str]:
    """One line for everything that the pages under `root` (README.md, docs/) say and the results do not."""
    return [
        *_page(root / "docs" / "claims.md", claims_page(ledger, rows)),
        *_gallery(root / "docs" / "gallery.html", ledger, rows),
        *(problem for page in _written(root) for problem in _sentences(page, rows)),
    ]


def _written(root: Path) -> list[Path]:
    """Pages written by hand."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in pages if page.exists() and page.name != "claims.md"]


def _page(path: Path, expected: str) -> Iterator[str]:
    if not path.exists():
        yield f"{path.name}: missing; `make docs` writes it"
        return
    there, wanted = path.read_text(encoding="utf-8").splitlines(), expected.splitlines()
    if there != wanted:
        both = zip(there, wanted, strict=False)
        at = next((number for number, (a, b) in enumerate(both) if a != b), min(len(there), len(wanted)))
        shown = wanted[at] if at < len(wanted) else "nothing more"
        yield f"{path.name}:{at + 1}: differs from the results, which give: {shown[:100]}"


def _gallery(path: Path, ledger: Ledger, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not path.exists():
        yield f"{path.name}: missing; `make docs` writes it"
        return
    page = path.read_text(encoding="utf-8")
    if html.escape(ledger.summary()) not in page:
        yield f"{path.name}: counts other runs than the results"
    if counts_table(rows) not in page:
        yield f"{path.name}: counts other verdicts than the results"
    for row in rows:
        if card(row) not in page or ledger_row(row) not in page:
            yield f"{path.name}: {row['id']} differs from the results ({row['verdict']})"
    shown = re.findall(r'<article class="claim [^"]*" id="([^"]+)"', page)
    for name in sorted(set(map(html.unescape, shown)) - {row["id"] for row in rows}):
        yield f"{path.name}: no claim {name} in the results"


def _sentences(path: Path, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    by_id = {row["id"]: row for row in rows}
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for sentence in SENTENCE.split(text):
        named = NAMED.findall(sentence)
        known = [by_id[name] for name, _ in named if name in by_id]
        for name, verdict in named:
            if name not in by_id:
                yield f"{path.name}: no claim {name} in the results. {nearest(name, by_id)}"
            elif verdict != by_id[name]["verdict"]:
                yield f"{path.name}: [{name}: {verdict}] should say: {by_id[name]['verdict']}"
        if known:
            told = " ".join(_text(row) for row in known)
            for number in NUMBER.findall(NAMED.sub("", sentence)):
                if not re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", told):
                    yield f"{path.name}: {number} is not in the results of {', '.join(row['id'] for row in known)}"


def _text(row: dict[str, Any]) -> str:
    """Everything that the ledger says about a claim."""
    effects = (effect["text"] for case in row["cases"] for effect in case["effects"])
    return " ".join(
        (row["statement"], row["reported"], row["measured"], row["remark"], row["rule"], row["differs"], *effects)
    )
