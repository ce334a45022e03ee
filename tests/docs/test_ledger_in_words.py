"""Numbers that hand-written pages take from the ledger of claims are there."""

import re

from pages import DOCS, README

LEDGER = (DOCS / "claims.md").read_text(encoding="utf-8")
SETTINGS = {"15,000", "113"}
"""Numbers of what was done, not of what came out."""


def test_what_came_out_of_inductive_bias():
    page = (DOCS / "inductive-bias.md").read_text(encoding="utf-8")
    section = page.partition("## What came out\n")[2]
    ours = "".join(line for line in LEDGER.splitlines() if line.startswith("| `ib-"))
    numbers = set(re.findall(r"-?\d[\d,]*\d(?:\.\d+)?(?:e-\d+)?|-?\d\.\d+(?:e-\d+)?", section)) - SETTINGS
    assert len(numbers) > 25
    assert {number for number in numbers if not re.search(rf"(?<![\d.,]){number}(?![\d,]*\d|\.\d)", ours)} == set()


def test_the_readme_counts_as_the_ledger_does():
    (runs,) = re.findall(r"experiments at full size: ([\d,]+) runs", LEDGER)
    assert f"experiments, {runs} runs" in " ".join(README.read_text(encoding="utf-8").split())
