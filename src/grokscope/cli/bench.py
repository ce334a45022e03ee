"""The command that measures speed: bench."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Device, Json, Sets, app, parse_sets

if TYPE_CHECKING:
    import torch

LANES = {"cpu": "1,5,16", "cuda": "1,5,16,64,256,512"}
PRECISION = {"cpu": "float32", "cuda": "tf32,bf16"}


@app.command()
def bench(
    settings: Sets = None,
    lanes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Lane counts to time; the default depends on the device.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Precisions of matrix products: float32, tf32, bf16. Default: float32 on a CPU, tf32,bf16 on a GPU.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Approximate seconds per measurement; on a CPU in eight rounds.")
    ] = 5.0,
    scaling: Annotated[
        bool,
        typer.Option(
            "--scaling", help="Also measure how the cost grows with lanes, p, d, T and layers, in the first precision."
        ),
    ] = False,
    startup: Annotated[
        bool, typer.Option("--startup", help="Also time the start of the program in fresh processes.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Also time the training of the demo.")] = False,
    stored: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE.json", help="Show a stored measurement instead of timing anything."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Write the measurement to this file.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="DIR", help="Draw the scaling as SVG and PNG into DIR.")
    ] = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Measure speed: the fleet at several lane counts, compared with a plain training loop and with the limit of the device.

    A run-step is one optimizer step of one run. Its operations and bytes are counted, and the speed at which the device copies
    and multiplies matrices of those shapes is measured in the same session; the limit is the slower of the two.

        grokscope bench --lanes 1,5 --seconds 2

        grokscope bench --scaling --startup --demo -o speed.json

        grokscope bench --from speed.json --pictures .
    """
    from ..bench.report import as_text, machine, picture, rounded, tables
    from ..bench.stored import read_measured, save_measured
    from ..figures.style import save
    from ..store import check_writable

    if output:
        check_writable(output.parent)
    if pictures and stored is None and not scaling:
        raise ConfigError("--pictures", "there is nothing to draw; add --scaling")
    if stored is None:
        measured = rounded(_measure(parse_sets(settings), lanes, precision, seconds, scaling, startup, demo, device))
    else:
        measured = read_measured(stored)
    if output:
        save_measured(output, measured)
    if pictures:
        if not measured.get("scaling"):
            raise ConfigError("--pictures", f"{stored} has nothing to draw: it was measured without --scaling")
        save(picture(measured), pictures / "scaling")
    if as_json:
        print(json.dumps(measured, indent=1))
        return
    print(f"{machine(measured)}, torch {measured['torch']}\n{measured['command']}")
    for table in tables(measured):
        print(f"\n{as_text(table)}")


def _measure(
    sets: dict[str, str],
    lanes: str | None,
    precision: str | None,
    seconds: float,
    scaling: bool,
    startup: bool,
    demo: bool,
    device: str,
) -> dict[str, Any]:
    from ..bench import measure
    from ..bench import scaling as growth
    from ..bench import startup as start
    from ..launch.grid import read_config
    from ..ops.devices import resolve_device
    from .session import command_line

    config = read_config(None, sets).check()
    place = resolve_device(device)
    counts = _counts(lanes or LANES[place.type])
    precisions = (precision or sets.get("precision") or PRECISION[place.type]).split(",")
    for name in precisions:
        measure.in_precision(config, name)  # raises before anything is timed

    def notify(what: str) -> None:
        print(f"timing {what} …", file=sys.stderr)

    measured: dict[str, Any] = {"command": command_line()}
    measured |= measure.bench(config, counts, place, precisions=precisions, seconds=seconds, notify=notify)
    if startup:
        notify("start-up")
        measured["startup"] = start.startup()
    if demo:
        notify("the demo")
        measured["demo_s"] = _demo_seconds(place)
    if scaling:
        own = measure.in_precision(config, precisions[0])
        measured["scaling"] = growth.scaling(own, place, seconds=min(seconds / 4, 1.0), notify=notify)
    return measured


def _demo_seconds(device: torch.device) -> float:
    """Seconds to train the runs of the demo, saving included."""
    import tempfile
    import time

    from ..demo import configs
    from ..launch.local import train_all

    asked = configs(range(3))
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        train_all(asked, device=str(device), runs=folder)
        return time.perf_counter() - begin


def _counts(text: str) -> list[int]:
    try:
        counts = [int(word) for word in text.split(",")]
        if min(counts) < 1:
            raise ValueError
    except ValueError:
        raise ConfigError("--lanes", f"{text!r} is not a list of positive integers such as 1,5,16") from None
    return counts
