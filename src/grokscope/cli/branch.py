"""The command branch: new runs from checkpoints of stored ones, with an intervention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, shown
from .app import Again, Device, Json, Lanes, Quiet, Runs, Sets, app, parse_sets
from .place import On, parse_place
from .work import Track, train_and_report

if TYPE_CHECKING:
    from ..config import RunConfig


@app.command()
def branch(
    parents: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN@EPOCH…",
            help="Runs to branch from. EPOCH is that of a kept checkpoint (`log.keep`), or last, t_mem, t_grok, plateau: the "
            "middle between t_mem and t_grok. The default is last.",
            show_default=False,
        ),
    ],
    do: Annotated[
        list[str] | None,
        typer.Option(
            "--do",
            metavar='"KIND FIELD=VALUE …"',
            help="The intervention; `grokscope list interventions` shows the choices. May be given twice. Without it the branch "
            "continues as its parent did.",
        ),
    ] = None,
    settings: Sets = None,
    runs: Runs = Path("runs"),
    on: On = "local",
    device: Device = "auto",
    lanes: Lanes = None,
    again: Again = False,
    quiet: Quiet = False,
    track: Track = None,
    as_json: Json = False,
) -> None:
    """Start new runs from checkpoints of stored ones, with something changed in mid-training.

    A branch takes over weights and optimizer state, and the rows measured up to there. Its settings are its parent's; `--set`
    changes some for the rest of the run. Windows (`start`, `end`) count epochs from the branch.

        grokscope branch 3f9a@plateau --do "clamp to=oracle" --do "rescale parts=mlp norm=27"

        grokscope branch 3f9a@t_mem --do "gradient parts=attention strength=10" --set epochs=20000

        grokscope branch 3f9a@t_mem --do "transplant run=77b1 parts=mlp"
    """
    sets = parse_sets(settings)
    place = parse_place(on, sets)
    chosen = [_config(word, parse_do(do, runs), sets, runs) for word in parents]
    train_and_report(chosen, place, runs, device, lanes, again, quiet, as_json, track or ())


def parse_do(words: list[str] | None, runs: Path) -> dict[str, Any]:
    """["clamp to=oracle"] → {"kind": "clamp", "to": "oracle"}; two interventions become a pair."""
    tables = [_parse_one(word, runs) for word in words or []]
    if len(tables) > 2:
        raise ConfigError("--do", f"{len(tables)} interventions; two at most can be combined")
    if len(tables) == 2:
        return {"kind": "both", "first": tables[0], "second": tables[1]}
    return tables[0] if tables else {"kind": "none"}


def _parse_one(text: str, runs: Path) -> dict[str, Any]:
    from ..store import find_run

    kind, *rest = text.split() or [""]
    if not kind or "=" in kind:
        raise ConfigError("--do", f'{shown(text)} is not of the form "kind field=value"')
    table: dict[str, Any] = {"kind": kind, **parse_sets(rest, "--do")}
    if table.get("run"):
        table["run"] = find_run(runs, table["run"]).id  # as the parent: an id that does not depend on how it was typed
    return table


def _config(word: str, do: dict[str, Any], settings: dict[str, Any], runs: Path) -> RunConfig:
    from ..config import RunConfig, merge, nested
    from ..run import StoredRun

    name, asked, epoch = word.partition("@")
    if asked and not epoch:
        raise ConfigError("RUN@EPOCH", f"{shown(word)} names no epoch; leave out the @ for the last one")
    parent = StoredRun.find(runs, name)
    plain = parent.config.changes() | {"branch": {"run": parent.id, "epoch": epoch or "last"}, "do": do}
    return RunConfig.from_dict(merge(plain, nested(settings), source=f"run {parent.id}", notify=_say))


def _say(line: str) -> None:
    import sys

    print(line, file=sys.stderr)
