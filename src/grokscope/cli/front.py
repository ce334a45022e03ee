"""The first page of help, and the module of each command.

A command's module is imported when the command is used, and the page draws its own panels: importing all modules, and the parts
of typer and rich that render Markdown, would double the time of `grokscope --help`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import RenderableType

COMMANDS = {
    "demo": ("work", "Three runs side by side: one that waits, one that is told where to look, one that is misled."),
    "train": ("work", "Train one configuration with several seeds, side by side."),
    "sweep": ("work", "Train every point of a grid, packed into fleets."),
    "search": ("search", "Find which tokens matter: race hypotheses about them, and train on with the one that holds."),
    "race": ("race", "Race accelerators of grokking under equal budgets, and print a leaderboard with intervals."),
    "branch": ("branch", "Start new runs from checkpoints of stored ones, with something changed in mid-training."),
    "forecast": (
        "forecast",
        "Forecast whether and when runs will generalise, from what is known on their plateau; score the predictors.",
    ),
    "status": (
        "status",
        "Show what trains where: jobs of clusters, runs in training with their host, progress, speed and estimated end.",
    ),
    "cancel": (
        "status",
        "End jobs of a cluster. Their runs are saved, and the command that submitted them continues them later.",
    ),
    "runs": ("look", "List the stored runs: what tells them apart, status, when they memorised, when they grokked."),
    "show": ("look", "Show one run: its settings, its phases in words, its last measurements."),
    "plot": (
        "plot",
        "Draw one figure of runs as SVG and PNG, such as accuracy, attention-map, embedding or gt-masks; or a movie.",
    ),
    "report": (
        "look",
        "Write one self-contained HTML page about runs: figures, statistics, a table, the command. It works offline.",
    ),
    "tag": (
        "tag",
        "Give stored runs a name and tags; `runs --where name=…` and `--where tag=…` select by them.",
    ),
    "live": (
        "live",
        "Watch runs in the browser while they train: curves, phases, attention, speed and time left.",
    ),
    "rm": (
        "remove",
        "Delete stored runs: those named, those that --where and --status select, or those that are both.",
    ),
    "check": (
        "check",
        "Verify stored runs: every row, checksum and checkpoint, and that each folder bears the name of its run.",
    ),
    "list": ("listing", "List what can be chosen by name, with every setting, its default and its meaning."),
    "probe": (
        "probes",
        "Analyse the kept checkpoints of runs: how masks change, which frequencies neurons use, how the logits depend on them.",
    ),
    "measure": (
        "measure",
        "Evaluate measures that runs were trained without, at the checkpoints that they kept.",
    ),
    "audit": (
        "audit",
        "Check the paper's statements on stored runs: each holds, is violated or does not apply, with its numbers.",
    ),
    "equations": (
        "theory",
        "List every equation of the papers: its number, its statement, the function that computes it, the tests of it.",
    ),
    "reproduce": (
        "science",
        "Run an experiment by name: train its arms, print the verdicts, write figures and compact results.",
    ),
    "claims": (
        "claims",
        "Print the ledger: every claim with its measurements and its verdict, rebuilt from stored results without training.",
    ),
    "bench": (
        "bench",
        "Measure speed: the fleet at several lane counts, compared with a plain training loop and with the limit of the device.",
    ),
}
"""The module of each command, and the first sentence of its help, in the order of the page."""


def register(words: Iterable[str] = tuple(COMMANDS)) -> None:
    """Import the modules of the commands that occur in `words`; they register themselves."""
    for module in {COMMANDS[word][0] for word in words if word in COMMANDS}:
        importlib.import_module(f".{module}", __package__)


class Front(TyperGroup):
    """The program as a group of commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Usage, options and commands in the style of the help of each command."""
        from rich.console import Console
        from rich.padding import Padding
        from rich.text import Text

        console = Console(highlight=False)
        usage = Text(self.get_usage(ctx), style="bold")
        usage.highlight_words(["Usage:"], "yellow")
        console.print(Padding(usage, 1))
        console.print(Padding(_prose(self.help or ""), (0, 1, 1, 1)))
        options = [
            [
                Text(",".join(p.opts), style="bold cyan"),
                Text(p.metavar or "", style="bold yellow"),
                _prose(getattr(p, "help", None) or ""),
            ]
            for p in self.get_params(ctx)
        ]
        commands = [[Text(name, style="bold cyan"), _prose(about)] for name, (_, about) in COMMANDS.items()]
        console.print(_panel("Options", options))
        console.print(_panel("Commands", commands))
        console.print(Padding(_prose(self.epilog or ""), 1))


def _panel(title: str, rows: list[list[RenderableType]]) -> RenderableType:
    from rich.panel import Panel
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for _ in rows[0][:-1]:
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return Panel(table, title=title, title_align="left", border_style="dim")


def _prose(text: str) -> RenderableType:
    """A paragraph; text in backquotes is code."""
    from rich.text import Text

    parts = re.split(r"`([^`]*)`", text)
    return Text.assemble(*((part, "bold cyan" if place % 2 else "") for place, part in enumerate(parts)))
