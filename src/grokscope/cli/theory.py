"""The command that lists the theory: equations."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from .app import Json, app
from .printing import to_json


@app.command()
def equations(
    word: Annotated[
        str | None,
        typer.Argument(metavar="WORD", help="Show only equations with this number, or with this word in them."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List every equation of the papers: its number, its statement, the function that computes it, the tests of it.

    For an inequality also the tightest ratio found by a search for counterexamples: 1 is tight, above 1 is a violation.
    """
    # The written index, not grokscope.theory: that would import PyTorch, and an installed package has no tests to read.
    table = json.loads(files("grokscope").joinpath("theory", "equations.json").read_text("utf-8"))
    found = [row for row in table if word is None or _matches(row, word)]
    if not found:
        raise ConfigError("equations", f"no equation has the number or contains the word {word!r}")
    if as_json:
        print(to_json(found))
        return
    for row in found:
        print(f"{row['paper']} {', '.join(row['numbers'])}\n    {row['statement']}\n    {row['formula']}")
        print(f"    {row['function']}")
        if row["tightest_ratio"] is not None:
            print(f"    tightest ratio found: {row['tightest_ratio']:.4g}")
        if row["refuted"]:
            print(f"    not true as stated: {row['refuted']}")
        if row["fails_as_restored"]:
            print(f"    not true in the form restored here: {row['fails_as_restored']}")
        print("    used by: " + (", ".join(row["used_by"]) or "tests only"))
        print("    tested: " + "\n            ".join(row["tested"]))


def _matches(row: dict[str, Any], word: str) -> bool:
    if word in row["numbers"]:
        return True
    texts = [row["paper"], row["statement"], row["function"], *row["remarks"], *row["numbers"]]
    return not word.isdigit() and any(word.lower() in text.lower() for text in texts)
