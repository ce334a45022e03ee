"""Parts of README.md, docs/index.md and docs/tutorial.md that hold numbers: `python -m tools.readme_page`.

What is between `<!-- filled: NAME -->` and `<!-- end -->` is generated; the rest is written by hand. `--demo DIR` first takes over
the verdict and the picture of a demo that has just been run; `--example` and `--tutorial` first run the README's Python example, or
the tutorial (minutes), and keep what they print. `--check` reports stale pages.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grokscope.bench.stored import read_measured
from grokscope.papers import all_equations
from grokscope.store import save_file

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs/index.md", ROOT / "docs/tutorial.md")
KEPT = ROOT / "docs/demo.json"
PART = re.compile(r"(<!-- filled: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
WIDTH = 128


def demo(kept: dict[str, Any]) -> str:
    """The verdict of the demo as a quotation."""
    return "\n".join(f"> {line}" for line in textwrap.wrap(kept["verdict"], WIDTH))


def example(kept: dict[str, Any]) -> str:
    """What the Python example prints, and how long it takes."""
    told = f"It takes about {kept['example_seconds']} seconds of CPU time and prints"
    return f"{told}\n\n```text\n{kept['example']}\n```"


def tutorial(kept: dict[str, Any]) -> str:
    """What the last script of the tutorial prints."""
    return f"On the machine that these pages were written on it printed\n\n```text\n{kept['tutorial']}\n```"


def speed(kept: dict[str, Any]) -> str:
    """Steps per second on one GPU, from the measurements of docs/speed.md."""
    measured = read_measured(ROOT / "results/speed/h200.json")
    tf32, bf16 = ([row for row in measured["fleet"] if row["precision"] == name] for name in ("tf32", "bf16"))
    (five,) = [row for row in tf32 if row["lanes"] == 5]
    most = max(bf16, key=lambda row: row["run_steps_per_s"])
    device = measured["device"].removeprefix("NVIDIA ")
    text = (
        f"On one {device} five seeds of the paper's default make {five['run_steps_per_s']:,.0f} "
        f"optimizer steps per second in TF32 and {most['lanes']:,} of them {most['run_steps_per_s']:,.0f} in bf16, all diagnostics "
        f"included; a plain loop makes {measured['plain_run_steps_per_s']:,.0f} ([speed]({{speed}}))."
    )
    return text


def equations(kept: dict[str, Any]) -> str:
    """How many equations there are."""
    return f"{len(all_equations())} equations of the papers are functions, each with its tests ([equations]({{equations}}))."


FILLERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "demo": demo,
    "example": example,
    "tutorial": tutorial,
    "speed": speed,
    "equations": equations,
}


def filled(page: Path) -> str:
    """The text of a page with every generated part rewritten."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    docs = "" if page.parent.name == "docs" else "docs/"
    links = {"speed": f"{docs}speed.md", "equations": f"{docs}equations.md"}

    def fill(part: re.Match[str]) -> str:
        text = FILLERS[part[2]](kept)
        for name, target in links.items():
            text = text.replace(f"({{{name}}})", f"({target})")
        wrap = part[2] in ("speed", "equations")
        return f"{part[1]}\n{textwrap.fill(text, WIDTH, break_long_words=False) if wrap else text}\n\n{part[3]}"

    return PART.sub(fill, page.read_text(encoding="utf-8"))


def take_demo(folder: Path) -> dict[str, Any]:
    """The verdict of `grokscope demo --output FOLDER`, whose runs are stored; its picture and movie go to docs/."""
    command = [sys.executable, "-m", "grokscope", "demo", "--output", str(folder), "--json", "--quiet"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    save_file(ROOT / "docs/demo.svg", (folder / "accuracy.svg").read_text(encoding="utf-8"))
    save_file(ROOT / "docs/movie.gif", (folder / "movie.gif").read_bytes())
    return {"verdict": told["verdict"]}


def run_example() -> dict[str, Any]:
    """Run the first Python block of the README in an empty folder. Its CPU time, which includes starting Python, depends less than
    its wall time on what else the machine does."""
    code = blocks(PAGES[0], "python")[0]
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
        after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return {"example": done.stdout.rstrip(), "example_seconds": round(seconds)}


def run_tutorial() -> dict[str, Any]:
    """Train the grid of the tutorial with its measure, and run its last script."""
    grid, (measure, verdict) = blocks(PAGES[2], "toml")[0], blocks(PAGES[2], "python")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "distractors.toml").write_text(grid, encoding="utf-8")
        Path(folder, "astray.py").write_text(measure, encoding="utf-8")
        sweep = ["--load", "astray.py", "sweep", "distractors.toml", "--runs", "distractors", "--quiet"]
        subprocess.run([sys.executable, "-m", "grokscope", *sweep], cwd=folder, check=True, capture_output=True)
        done = subprocess.run([sys.executable, "-c", verdict], cwd=folder, check=True, capture_output=True, text=True)
    return {"tutorial": done.stdout.rstrip()}


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page that are in `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.readme_page", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="report stale pages instead of writing them")
    parser.add_argument("--demo", type=Path, metavar="DIR", help="take over the demo that was run into DIR")
    parser.add_argument("--example", action="store_true", help="run the Python example of the README")
    parser.add_argument("--tutorial", action="store_true", help="run the tutorial")
    given = parser.parse_args(arguments)
    if given.demo or given.example or given.tutorial:
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        kept |= take_demo(given.demo.resolve()) if given.demo else {}
        kept |= run_example() if given.example else {}
        kept |= run_tutorial() if given.tutorial else {}
        save_file(KEPT, json.dumps(kept, ensure_ascii=False, indent=1) + "\n")
    stale = [page for page in PAGES if filled(page) != page.read_text(encoding="utf-8")]
    for page in stale:
        if given.check:
            print(f"{page.relative_to(ROOT)} is stale: run python -m tools.readme_page", file=sys.stderr)
        else:
            save_file(page, filled(page))
    return int(given.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
