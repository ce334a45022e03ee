"""The command that shows the theory: equations."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from .app import Json, app


@app.command()
def equations(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Only those with this number, or this word anywhere.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Every equation of the papers: its number, what it says, the function that computes it, where that is tested.

    For an inequality also the tightest ratio that a search for bad cases has found: 1 is tight, above 1 breaks it.
    """
    # The written index, not grokscope.theory: that would import PyTorch, and an installed package has no tests to read.
    table = json.loads(files("grokscope").joinpath("theory", "equations.json").read_text("utf-8"))
    found = [row for row in table if word is None or _matches(row, word)]
    if not found:
        raise ConfigError("equations", f"no equation has the number {word!r} or that word in it")
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for row in found:
        print(f"{row['paper']} {', '.join(row['numbers'])}\n    {row['statement']}\n    {row['formula']}")
        print(f"    {row['function']}")
        if row["tightest_ratio"] is not None:
            print(f"    tightest ratio found: {row['tightest_ratio']:.4g}")
        if row["refuted"]:
            print(f"    not true as stated: {row['refuted']}")
        print("    used by: " + (", ".join(row["used_by"]) or "tests only"))
        print("    tested: " + "\n            ".join(row["tested"]))


def _matches(row: dict[str, Any], word: str) -> bool:
    if word in row["numbers"]:
        return True
    texts = [row["paper"], row["statement"], row["function"], *row["remarks"], *row["numbers"]]
    return not word.isdigit() and any(word.lower() in text.lower() for text in texts)
