"""The app and the options that commands share."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, GrokscopeError
from .front import Front

app = typer.Typer(
    name="grokscope",
    cls=Front,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="An instrument for grokking: train, measure and explain why a network that has memorised waits before it generalises.",
    epilog="Start with `grokscope demo`. `grokscope list tasks` names every setting of a task; `--set task.p=97` changes one.",
)

Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder that holds a folder per run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="ROOM.FIELD=VALUE", help="Change one setting, e.g. `--set task.p=97`. May be repeated."
    ),
]
Seeds = Annotated[str, typer.Option("--seeds", metavar="N | A,B,C", help="How many seeds (0 … N−1), or which ones.")]
Device = Annotated[
    str,
    typer.Option("--device", metavar="auto | cpu | cuda", help="Where to train; auto takes the GPU if there is one."),
]


def parse_lanes(text: str) -> int | None:
    """`auto`, or a number."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError("--lanes", f"{text!r} is neither auto nor a number from 1 on")
    return int(text)


Lanes = Annotated[
    int | None,
    typer.Option(
        "--lanes",
        metavar="auto | N",
        parser=parse_lanes,
        show_default="auto",
        help="How many runs of equal shape train at once in one fleet; auto goes by free memory. Halved when memory runs out.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress display.")]


def print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from .. import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    load: Annotated[
        list[Path] | None,
        typer.Option(
            "--load", metavar="FILE.py", help="Import a file of yours first: what it registers can be used by name."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    for path in load or []:
        load_file(path)


def load_file(path: Path) -> None:
    """Import a user's file; registering is what it is for."""
    if not path.is_file():
        raise ConfigError("--load", f"{path} is not a file")
    spec = importlib.util.spec_from_file_location(f"grokscope_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError("--load", f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and inspect look a class's module up there
    try:
        spec.loader.exec_module(module)
    except GrokscopeError:
        raise
    except Exception as error:
        raise ConfigError("--load", f"{path} could not be imported: {type(error).__name__}: {error}") from error


def parse_ticket(text: str | None, rate: float | None) -> dict[str, Any]:
    """`3f9a@5000` with a rate, as the settings they stand for."""
    if text is None:
        if rate is not None:
            raise ConfigError("--rate", "is for --ticket RUN@EPOCH; say which run the ticket comes from")
        return {}
    run, _, epoch = text.partition("@")
    settings: dict[str, Any] = {"ticket.kind": "magnitude", "ticket.run": run, "ticket.epoch": epoch or "last"}
    return settings if rate is None else settings | {"ticket.rate": rate}


def parse_seeds(text: str) -> list[int]:
    """`5` is seeds 0 … 4; `0,3,7` (or `3,`) are those."""
    try:
        numbers = [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise ConfigError("--seeds", f"{text!r} is neither a number nor a list such as 0,3,7") from None
    seeds = numbers if "," in text else list(range(numbers[0])) if numbers else []
    if not seeds or min(seeds) < 0:
        raise ConfigError("--seeds", f"{text!r} names no seed")
    return list(dict.fromkeys(seeds))


def parse_sets(words: list[str] | None) -> dict[str, str]:
    """["task.p=97"] → {"task.p": "97"}"""
    settings = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError("--set", f"{word!r} is not of the form room.field=value")
        settings[name.strip()] = value.strip()
    return settings
