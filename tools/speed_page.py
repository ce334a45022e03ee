"""The measured part of docs/speed.md and its pictures, from results/speed/*.json: `python -m tools.speed_page [--check]`.

What is between `<!-- measured: NAME -->` and `<!-- end -->` is generated from NAME.json, and what follows
`<!-- placements: NAME … -->` from several files that differ in `model.norm`; the rest is written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from grokscope.bench.report import Table, as_markdown, machine, picture, short, tables
from grokscope.bench.stored import read_measured
from grokscope.figures import to_svg
from grokscope.store import save_file

ROOT = Path(__file__).resolve().parents[1]
PAGE, STORED = ROOT / "docs/speed.md", ROOT / "results/speed"
PART = re.compile(r"(<!-- (measured|placements): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
NORM = re.compile(r" --set model\.norm=(\S+)")


def filled(page: str, stored: Path = STORED) -> str:
    """The page with every measured part rewritten."""
    written = {"measured": measured_part, "placements": placements_part}
    return PART.sub(lambda part: f"{part[1]}\n{written[part[2]](part[3], stored)}\n\n{part[4]}", page)


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


def placements_part(names: str, stored: Path) -> str:
    """Rates of several files that differ in the placement of norms, one row for each, with the command of each."""
    files = [f"{stored / name}.json" for name in names.split()]
    every = [read_measured(Path(file)) for file in files]
    rates = [{(row["precision"], row["lanes"]): row["run_steps_per_s"] for row in one["fleet"]} for one in every]
    columns = [name for name in rates[0] if all(name in own for own in rates)]
    rows = [
        (placed[1] if (placed := NORM.search(one["command"])) else "none", *(short(own[name]) for name in columns))
        for one, own in zip(every, rates, strict=True)
    ]
    header = ("model.norm", *(f"{precision}, {lanes:,} lanes" for precision, lanes in columns))
    table = Table("Run-steps per second by placement of the norms", header, rows)
    commands = "\n".join(one["command"] for one in every)
    return f"{as_markdown(table)}\n\n```sh\n{commands}\n```"


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
