"""docs/claims.md: a summary that fits on one screen, then one section per experiment."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .base import PAPERS, VERDICTS, Experiment
from .clauses import KEY
from .counts import WHOSE, either
from .frozen import made_from
from .ledger import Ledger, decided, horizons

MOST = 110
"""Characters of a line about a claim in the summary."""


def claims_page(ledger: Ledger, rows: Sequence[dict[str, Any]]) -> str:
    """The page as Markdown."""
    lines = [
        "# Claims",
        "",
        "Rebuilt from `results/` by `grokscope claims --markdown` and checked by `grokscope claims --check`; nothing here is typed "
        "by hand. The [gallery](gallery.html) shows the same claims as cards, with pictures, what was measured in each arm, and "
        "the simulated size and power of each rule. A verdict says whether our runs agree with the statement, as its author makes "
        "it.",
        "",
        ledger.summary(),
        "",
        *summary_table(rows),
        "",
        *_list("The runs disagree", [row for row in rows if row["verdict"] == "disagrees"]),
    ]
    if ledger.stale:
        lines += [f"To be run again, since rules or arms changed after the runs: {', '.join(ledger.stale)}.", ""]
    lines += ["## How to read this page", "", KEY, ""]
    for experiment, results in ledger.found:
        own = [row for row in rows if row["experiment"] == experiment.name]
        lines += _section(experiment, own, horizons(results), made_from(results.about))
    return "\n".join(lines).rstrip() + "\n"


def summary_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Counts of verdicts by paper and by whose the statements are."""
    papers = sorted(
        {row["paper"] for row in rows}, key=lambda name: (PAPERS.index(name) if name in PAPERS else 9, name)
    )
    lines = ["| paper | whose | claims | " + " | ".join(VERDICTS) + " |", "|---|---|" + "---|" * (1 + len(VERDICTS))]
    for paper, whose in itertools.product((*papers, "all"), WHOSE):
        own = [row for row in rows if paper in ("all", row["paper"]) and row["of"] == whose]
        counts = Counter(row["verdict"] for row in own)
        if own:
            numbers = " | ".join(str(number) for number in (len(own), *(counts[verdict] for verdict in VERDICTS)))
            lines.append(f"| {paper} | {WHOSE[whose]} | {numbers} |")
    return lines


def _list(title: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """One short line per claim."""
    if not rows:
        return []
    return [
        f"{title}:",
        "",
        *(f"- [{row['id']}](#{row['experiment'].lower()}) {_cut(row['statement'])}{_who(row)}" for row in rows),
        "",
    ]


def _who(row: dict[str, Any]) -> str:
    return "" if row["of"] == "paper" else f" ({row['of']})"


def _cut(text: str) -> str:
    return text if len(text) <= MOST else text[: MOST - 1].rsplit(" ", 1)[0] + " …"


def _section(experiment: Experiment, rows: Sequence[dict[str, Any]], epochs: Sequence[int], made: str) -> list[str]:
    whose = f"Settings: {experiment.settings}" + (f"; {experiment.differs}" if experiment.differs else "")
    about = [
        f"{experiment.title}.",
        experiment.question,
        f"{whose.rstrip('.')}.",
        f"Runs end after {either(epochs)} epochs at the latest." if epochs else "",
        f"Results {made}." if made else "",
    ]
    lines = [f"## {experiment.name}", "", " ".join(filter(None, about)), ""]
    for row in rows:
        lines += _claim(row)
    return lines


def _claim(row: dict[str, Any]) -> list[str]:
    reported = f" The paper: {row['reported']}." if row["reported"] else ""
    lines = [f"### {row['id']}: {row['verdict']}", "", f"*{row['statement']}*{_who(row)}{reported}", ""]
    if any(case["effects"] for case in row["cases"]):
        lines += ["| case | verdict | effect with 95 % interval | p | seeds |", "|---|---|---|---|---|"]
        lines += [_cells(case) for case in row["cases"]]
    else:
        lines += [f"- {_plain(line)}" for line in row["measured"].split("\n")]
    lines += ["", f"**Note:** {row['remark']}"] if row["remark"] else []
    found = f"FDR q = {row['q']:.2g}" + ("" if decided(row) else " (not below 0.05)") if row["q"] is not None else ""
    ending = [
        f"[Details](gallery.html#{row['id']}). Rule: {row['rule']}",
        f"Test: {row['test']}" if row["test"] else "",
        found,
    ]
    return [*lines, "", " ".join(part.rstrip(".") + "." for part in ending if part), ""]


def _cells(case: dict[str, Any]) -> str:
    effect = case["effects"][0]["text"] if case["effects"] else case["measured"]
    p = "" if case["p"] is None else f"{case['p']:.2g}"
    note = case["blocked"] or case["note"]
    verdict = case["verdict"] + (f" ({note})" if note else "")
    cells = (case["name"] or "all", verdict, effect, p, str(case["seeds"] or ""))
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")
