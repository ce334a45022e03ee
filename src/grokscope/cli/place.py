"""The option that says where to train, for every command that does: `--on local | slurm | ray[://HOST:PORT]`.

A command takes it with `on: On = "local"`, and passes `parse_place(on, sets)` to `train_and_show`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

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


def parse_place(on: str, sets: dict[str, Any]) -> Executor:
    """The executor, with its settings taken out of `sets`."""
    from ..launch.executors import parse_place

    return parse_place(on, sets)
