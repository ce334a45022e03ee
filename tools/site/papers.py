"""One page per paper, from the ledger: its question, what holds, what does not, and the figures. No result is typed by hand."""

from __future__ import annotations

import importlib
import inspect
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from grokscope.experiments.base import PAPERS, VERDICTS, Experiment, all_experiments
from grokscope.experiments.claims_page import claims_page, summary_table
from grokscope.experiments.counts import verdict_counts
from grokscope.experiments.drawing import drawn_pictures
from grokscope.experiments.ledger import Ledger, decided, load_ledger
from grokscope.figures.style import to_file

ROOT = Path(__file__).resolve().parents[2]
GALLERY = "../gallery.html"
HEADINGS = {
    "agrees": ("What holds", "Our runs agree with these statements."),
    "agrees in part": ("What holds in part", "In some cases, named with each statement, and not in the others."),
    "disagrees": ("What does not hold", "Our runs disagree with these statements."),
    "cannot be told": ("What cannot be told", "The intervals include both answers."),
    "not tested": ("What is not tested", ""),
}
assert set(HEADINGS) == set(VERDICTS)
INDEX = """# Papers

Three papers are reproduced here, figure by figure. Each statement has a rule that was frozen before its runs; the pages below are
generated from the ledger of claims whenever the site is built, and nothing in them is typed by hand. A *verdict*
says whether our runs agree with a statement, as its author makes it. Effects, intervals, rules and pictures are on the cards of
[the gallery](../gallery.html), which filters claims by paper, verdict and text; as one long text they are in
[docs/claims.md](../claims.md).
"""


class PaperPages:
    """The pages, and the pictures on them by path; drawing is what takes time, and can be left out."""

    def __init__(self, results: Path = ROOT / "results", *, pictures: bool = True) -> None:
        self.ledger: Ledger = load_ledger(results, "full")
        self.rows = self.ledger.rows()
        self.cited = citations()
        self.draw = pictures

    def claims(self) -> str:
        """The page docs/claims.md from the same ledger, so that links to it are never stale."""
        return claims_page(self.ledger, self.rows)

    def index(self) -> str:
        """The three papers with the counts of their verdicts."""
        lines = [INDEX]
        for paper in PAPERS:
            cited = self.cited[paper]
            link = f"[{paper.replace('-', ' ').capitalize()}]({paper}.md)"
            lines.append(f"- **{link}**: *{cited['title']}*, {authors(cited)} {cited['year']}.")
        table = summary_table([row for row in self.rows if row["paper"] in PAPERS])
        return "\n".join([*lines, "", *table, "", self.ledger.summary(), ""])

    def of(self, paper: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["paper"] == paper]

    def page(self, paper: str) -> tuple[str, dict[str, bytes]]:
        """One page, and its pictures by file name."""
        cited, rows = self.cited[paper], self.of(paper)
        lines = [f"# {paper.replace('-', ' ').capitalize()}", ""]
        lines += [
            f"*{cited['title']}*, {authors(cited)} {cited['year']}. [{cited['url'].removeprefix('https://')}]({cited['url']})",
            "",
        ]
        lines += ["## The question", "", question(paper), "", "## The verdicts", ""]
        own = verdict_counts([row for row in rows if row["of"] == "paper"], "statement")
        others = verdict_counts([row for row in rows if row["of"] != "paper"], "statement")
        counted = (
            f"The paper's own: {own} Its critics' and ours: {others} Each is a line below, linked to its card in "
            f"[the gallery]({GALLERY})."
        )
        lines += [counted if rows else "No results are current: see the last section.", ""]
        for verdict, (heading, meaning) in HEADINGS.items():
            lines += self._verdicts(heading, meaning, [row for row in rows if row["verdict"] == verdict])
        figures, pictures = self._figures(paper)
        return "\n".join([*lines, *figures, *self._outstanding(paper)]), pictures

    def _verdicts(self, heading: str, meaning: str, rows: Sequence[dict[str, Any]]) -> list[str]:
        if not rows:
            return []
        return [f"### {heading}", "", meaning, "", *map(_line, rows), ""]

    def _figures(self, paper: str) -> tuple[list[str], dict[str, bytes]]:
        lines: list[str] = []
        pictures: dict[str, bytes] = {}
        for experiment, results in self.ledger.found:
            if experiment.paper != paper:
                continue
            own = [_plain(experiment.question)]
            for drawn in drawn_pictures(experiment, results) if self.draw else ():
                name = f"{experiment.name}-{drawn.file}.png"
                pictures[name] = _png(drawn.figure)
                what = f"{drawn.name}, {drawn.part}" if drawn.part else drawn.name
                own += [
                    f"![{_plain(drawn.caption)}]({name}){{ loading=lazy }}",
                    f"*{_plain(f'{what}: {drawn.caption}')}*",
                ]
            title = f"{experiment.name}: {experiment.title}".replace('"', "'")
            lines += [
                f'??? abstract "{title}"',
                "",
                *(f"    {line}\n" for line in own),
            ]  # folded: all would fill a hundred screens
        return (["## Figures", "", *lines] if lines else []), pictures

    def _outstanding(self, paper: str) -> list[str]:
        """Experiments without current results."""
        there = {experiment.name for experiment, _ in self.ledger.found}
        missing = [one for one in all_experiments().values() if one.paper == paper and one.name not in there]
        if not missing:
            return []
        lines = [
            "## Outstanding",
            "",
            "The rules of these experiments are frozen and their runs are still to be made.",
            "",
        ]
        return [*lines, *map(_entry, missing), ""]


def citations(path: Path = ROOT / "CITATION.cff") -> dict[str, dict[str, Any]]:
    """The papers of CITATION.cff, in the order of `PAPERS`."""
    return dict(zip(PAPERS, yaml.safe_load(path.read_text(encoding="utf-8"))["references"], strict=True))


def authors(cited: dict[str, Any]) -> str:
    """Hidajat, Stoll & An"""
    *first, last = (author["family-names"] for author in cited["authors"])
    return f"{', '.join(first)} & {last}"


def question(paper: str) -> str:
    """What the paper asks and answers: the docstring of its package, after the title."""
    doc = inspect.getdoc(importlib.import_module(f"grokscope.papers.{paper.replace('-', '_')}")) or ""
    return doc.split("\n\n", 1)[1] if "\n\n" in doc else ""


def _line(row: dict[str, Any]) -> str:
    """A statement with its verdict; the rest is on its card in the gallery."""
    who = "" if row["of"] == "paper" else f" ({row['of']})"
    when = f" {_plain(row['when'])}." if row["when"] and row["verdict"] == "agrees in part" else ""
    doubtful = "" if row["q"] is None or decided(row) else "; not below a false-discovery rate of 5 %"
    note = f" Note: {_plain(row['remark'])}" if row["remark"] else ""
    link = f"[{row['id']}]({GALLERY}#{row['id']})"
    return f"- **{row['verdict']}**{doubtful}: {_plain(row['statement'])}{who}{when}{note} {link}"


def _entry(experiment: Experiment) -> str:
    return f"- `{experiment.name}`: {_plain(experiment.title)}. {_plain(experiment.question)}"


def _plain(text: str) -> str:
    """Text of the ledger within a line of Markdown."""
    return " ".join(text.split()).replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;").replace("|", "\\|")


def _png(figure: Any) -> bytes:
    """Small, and sharp on high-resolution screens."""
    from PIL import Image

    image = Image.open(io.BytesIO(to_file(figure, "png", dpi=170)))
    small = io.BytesIO()
    image.convert("RGB").quantize(128).save(small, "PNG", optimize=True)
    return small.getvalue()
