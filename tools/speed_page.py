"""The measured part of docs/speed.md and its pictures, from results/speed/*.json: `python -m tools.speed_page [--check]`.

What is between `<!-- measured: NAME -->` and `<!-- end -->` is generated from NAME.json; the rest is written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from grokscope.bench.report import as_markdown, machine, picture, tables
from grokscope.bench.stored import read_measured
from grokscope.figures import to_svg
from grokscope.store import save_file

ROOT = Path(__file__).resolve().parents[1]
PAGE, STORED = ROOT / "docs/speed.md", ROOT / "results/speed"
PART = re.compile(r"(<!-- measured: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, stored: Path = STORED) -> str:
    """The page with every measured part rewritten."""
    return PART.sub(lambda part: f"{part[1]}\n{measured_part(part[2], stored)}\n\n{part[3]}", page)


def measured_part(name: str, stored: Path) -> str:
    """Command, machine, tables and picture of one file."""
    path = stored / f"{name}.json"
    if not path.exists():
        return "Not measured yet."
    measured = read_measured(path)
    parts = [f"`{measured['command']}`", f"{machine(measured)}, torch {measured['torch']}."]
    parts += map(as_markdown, tables(measured))
    if measured.get("scaling"):
        parts.append(f"![Scaling on {measured['device']}](speed-{name}.svg)")
    return "\n\n".join(parts)


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        if filled(page) == page:
            return 0
        print("docs/speed.md is stale: run python -m tools.speed_page", file=sys.stderr)
        return 1
    save_file(PAGE, filled(page))
    for path in sorted(STORED.glob("*.json")):
        measured = read_measured(path)
        if measured.get("scaling"):
            save_file(PAGE.with_name(f"speed-{path.stem}.svg"), to_svg(picture(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
