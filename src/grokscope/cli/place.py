"""The option that says where to train, for every command that does: `--on local | slurm | ray[://HOST:PORT]`.

A command takes it with `on: On = "local"`, and passes `parse_place(on, sets)` to `train_and_show` or `stage_trainer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import parse_sets

if TYPE_CHECKING:
    from ..launch.executors import Executor

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="local | slurm | ray[://HOST:PORT]",
        help="Where to train: every GPU of this machine, or a cluster. Its settings: `--set slurm.partition=gpu`.",
    ),
]

PlaceSets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="PLACE.FIELD=VALUE",
        help="A setting of --on, e.g. `--set slurm.partition=gpu`. May be repeated.",
    ),
]


def parse_place(on: str, sets: dict[str, Any]) -> Executor:
    """The executor, with its settings taken out of `sets`."""
    from ..launch.executors import parse_place

    return parse_place(on, sets)


def parse_fixed_place(on: str, settings: list[str] | None, what: str) -> Executor:
    """The executor, for a command that takes no other settings: those of `what` are fixed."""
    sets = parse_sets(settings)
    place = parse_place(on, sets)
    if sets:
        raise ConfigError(next(iter(sets)), f"belongs to no executor; the settings of {what} are fixed")
    return place
