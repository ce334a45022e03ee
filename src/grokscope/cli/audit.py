"""The command that checks the theory on stored runs: audit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import StoreError
from ..store.omitted import DELETED, omitted_lines
from .app import Json, Runs, app
from .choice import EPILOG, choose_runs
from .printing import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..papers.structural_inference.audit import Audit
    from ..store import RunInfo

COLOURS = {"holds": "green", "holds, empty": "yellow", "violated": "red", "not applicable": "dim"}


@app.command(epilog=EPILOG)
def audit(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them; all runs by default.")
    ] = None,
    folder: Runs = Path("runs"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="Also write a page with pictures.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the paper's statements on stored runs: each holds, is violated or does not apply, with its numbers.

    Replays every checkpoint of a run (`--set log.keep=50` keeps more of them) and reads its metrics: the attention γ that
    zero test error requires, B_γ and N before grokking, D under δ_nec, the gradient under Lemma 5.1, contraction with λ,
    the length of the plateau, the decay of D with the prior, the delay, the four phases.

    "Empty" marks a statement that holds vacuously.
    """
    from ..analysis import DEFAULT
    from ..papers.structural_inference.audit import audit as check_statements

    chosen = choose_runs(folder, run)
    infos, audits, problems = [], [], dict(chosen.problems)
    for info in chosen.runs:
        try:
            audits.append(check_statements(info))
            infos.append(info)
        except StoreError as error:
            problems[info.id] = str(error) if info.path.exists() else DELETED
    if not infos:
        lines = omitted_lines(problems)
        raise StoreError("\n".join(lines) if lines else f"{folder}: contains no runs with measurements")
    page = _write(infos, audits, output, problems) if output else None
    if as_json:
        print(to_json([audit.to_dict() for audit in audits]))
        chosen.finish(problems)
        return
    for info, found in zip(infos, audits, strict=True):
        _print(info, found)
    if len(audits) > 1:
        _summary(audits)
    print(f"t_mem: {DEFAULT.describe('train accuracy')}; t_grok: {DEFAULT.describe('test accuracy')}")
    if page:
        print(f"page: {page}")
    chosen.finish(problems)


def _write(infos: Sequence[RunInfo], audits: Sequence[Audit], output: Path, problems: Mapping[str, str]) -> Path:
    from ..conditions import arms_of
    from ..papers.structural_inference.audit.page import sections
    from ..report.runs import build_page, curves_of
    from ..store import save_file
    from .session import command_line

    arms = arms_of([info.config for info in infos]).names
    parts = sections(audits, curves_of(infos, arms))
    title = "An audit of the theory" if len(infos) > 1 else f"An audit of run {infos[0].id}"
    built = build_page(infos, command=command_line(), title=title, arms=arms, sections=parts, problems=problems)
    return save_file(output, built.html)


def _print(info: RunInfo, found: Audit) -> None:
    from rich.table import Table
    from rich.text import Text

    run = found.evidence
    nets = len(run.replays)
    replayed = f"{nets} checkpoint{'s' if nets != 1 else ''}" + (f", {run.pairs:,} pairs" if run.pairs else "")
    print(f"run {info.id}: seed {info.config['seed']}, {len(run.metrics)} evaluations, {replayed}")
    table = Table(box=None, pad_edge=False, show_header=False)
    for width in (13, 14):
        table.add_column(width=width)
    table.add_column(overflow="fold")
    for statement in found.statements:
        outcome = Text(statement.outcome, style=COLOURS[statement.outcome])
        words = Text.assemble((f"{statement.name}: ", "bold"), statement.text)
        table.add_row(statement.number, outcome, words)
    _show(table)


def _summary(audits: Sequence[Audit]) -> None:
    from rich.table import Table

    from ..papers.structural_inference.audit import proportionality

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("statement", *COLOURS):
        table.add_column(header, justify="left" if header == "statement" else "right")
    for statements in zip(*(audit.statements for audit in audits), strict=True):
        outcomes = [statement.outcome for statement in statements]
        counts = [str(outcomes.count(outcome) or "") for outcome in COLOURS]
        table.add_row(f"{statements[0].number}: {statements[0].name}", *counts)
    print(f"all {len(audits)} runs")
    together = proportionality(audits)
    table.add_row(f"{together.number}: {together.name}", *("1" if o == together.outcome else "" for o in COLOURS))
    _show(table)
    print(f"{together.number}, {together.name}: {together.text}")


def _show(table: object) -> None:
    from rich.console import Console

    Console(file=sys.stdout, width=max(Console().width, 120)).print(table)  # narrower columns are all line breaks
    print()
