"""The application, and the options that commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, nearest, shown
from ..limits import check_count
from ..loading import USER_MODULE, load_file
from .completion import complete_among
from .front import Front

app = typer.Typer(
    name="grokscope",
    cls=Front,
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="An instrument for grokking: train, measure and explain why a network that has memorised waits before it generalises.",
    epilog="Start with `grokscope demo`. `grokscope list tasks` names every setting of a task; `--set task.p=97` changes one.",
)

Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Directory of the runs, with one folder per run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="COMPONENT.FIELD=VALUE",
        help="Change one setting, e.g. `--set task.p=97`. May be repeated.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where", "-w", metavar="COMPONENT.FIELD=VALUE", help="Only runs with this setting. May be repeated."
    ),
]
STATUSES = ("running", "stopped", "failed", "done", "grokked", "diverged", "damaged")
Status = Annotated[
    str | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help=f"Only runs with this status: {', '.join(STATUSES)}.",
        autocompletion=complete_among(STATUSES),
    ),
]
Seeds = Annotated[
    str, typer.Option("--seeds", metavar="N | A,B,C", help="Number of seeds (0 … N−1), or a list of seeds.")
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="auto | cpu | cuda", help="Device to train on; auto uses a GPU if there is one."),
]


def parse_lanes(text: str) -> int | None:
    """`auto`, or a number."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError("--lanes", f"{text!r} is neither auto nor a positive integer")
    return int(text)


Lanes = Annotated[
    int | None,
    typer.Option(
        "--lanes",
        metavar="auto | N",
        parser=parse_lanes,
        show_default="auto",
        help="Number of runs of equal shape that one fleet trains at once; auto chooses it by free memory. Halved once if memory "
        "runs out.",
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="Delete what is stored of these runs and train them from scratch.")
]
Name = Annotated[
    str | None,
    typer.Option("--name", help="What to call these runs in lists; not part of their identity. See grokscope tag."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]


def print_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        from .. import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    load: Annotated[
        list[Path] | None,
        typer.Option(
            "--load",
            metavar="FILE.py",
            help="Import a file of your own first: what it registers can be chosen by name. May be repeated; the file may "
            "import modules in its folder. `GROKSCOPE_TRACEBACK=1` shows errors in it with their whole traceback.",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    for path in load or []:
        load_file(path)
    if load and "torch" in sys.modules:  # a file without it defines no nn.Module
        from ..attach.fleet import register_modules

        register_modules(name for name in tuple(sys.modules) if name.startswith(USER_MODULE))


def parse_ticket(text: str | None, rate: float | None) -> dict[str, Any]:
    """The settings that `3f9a@5000` and a rate stand for."""
    if text is None:
        if rate is not None:
            raise ConfigError("--rate", "requires --ticket RUN[@EPOCH]: the run that the ticket comes from")
        return {}
    run, _, epoch = text.partition("@")
    settings: dict[str, Any] = {"ticket.kind": "magnitude", "ticket.run": run, "ticket.epoch": epoch or "last"}
    return settings if rate is None else settings | {"ticket.rate": rate}


def parse_seeds(text: str) -> list[int]:
    """`5` means seeds 0 … 4; `0,3,7` (or `3,`) means these."""
    try:
        numbers = [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise ConfigError("--seeds", f"{shown(text)} is neither a number nor a list such as 0,3,7") from None
    if "," not in text:
        check_count(max(numbers, default=0), "--seeds")
    seeds = numbers if "," in text else list(range(numbers[0])) if numbers else []
    if not seeds or min(seeds) < 0:
        raise ConfigError("--seeds", f"{shown(text)} selects no seeds" if not seeds else f"{min(seeds)} is negative")
    return list(dict.fromkeys(seeds))


def check_status(status: str | None) -> None:
    """Refuse a status that no run can have."""
    if status is not None and status not in STATUSES:
        raise ConfigError("--status", f"unknown status {status!r}. {nearest(status, STATUSES)}")


def parse_sets(words: list[str] | None, option: str = "--set") -> dict[str, str]:
    """["task.p=97"] → {"task.p": "97"}"""
    settings = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError(option, f"{shown(word)} is not of the form component.field=value")
        settings[name.strip()] = value.strip()
    return settings
