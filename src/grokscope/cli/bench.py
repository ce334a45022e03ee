"""The command that measures speed: bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Device, Json, Sets, app, parse_sets
from .printing import to_json

if TYPE_CHECKING:
    import torch

    from ..config import RunConfig
    from ..experiments.base import Scale

LANES = {"cpu": "1,5,16", "cuda": "1,5,16,64,256,512"}
PRECISION = {"cpu": "float32", "cuda": "tf32,bf16"}


@app.command()
def bench(
    settings: Sets = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Time everything that can be trained instead: every model, optimizer, filter, loss, ticket, task and prior, each "
            "with the other settings as given. With -o, what the file holds already is not timed again.",
        ),
    ] = False,
    experiments: Annotated[
        list[str] | None,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="Train the runs of an experiment instead, as `reproduce` does, and compare with the rate of their steps and "
            "evaluations alone; repeat for several.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="With --experiment: at full size.")] = False,
    lanes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Lane counts to time; the default depends on the device. With --all one: by default 64 on a GPU, and on a CPU as "
            "many as train at once.",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Precisions of matrix products: float32, tf32, bf16. Default: float32 on a CPU, tf32,bf16 on a GPU. With --all "
            "one, by default the first of these.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Approximate seconds per measurement: 5 by default, on a CPU in eight rounds; with --all and --experiment 1. An "
            "experiment trains for ten times as long at most.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=1.0,
            help="With --all: start no further entry when this time is used up; repeat to continue.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="With --all: time what the file holds already, too.")] = False,
    scaling: Annotated[
        bool,
        typer.Option(
            "--scaling", help="Also measure how the cost grows with lanes, p, d, T and layers, in the first precision."
        ),
    ] = False,
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep",
            help="Also train sweeps of as many runs, opening and saving included, and compare the rates: ten times as long.",
        ),
    ] = False,
    startup: Annotated[
        bool,
        typer.Option(
            "--startup",
            help="Also time the start of the program in fresh processes; on a GPU also the way to the first step.",
        ),
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Also time the training of the demo.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Also measure what grokscope.watch adds to a step, on the CPU.")
    ] = False,
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

        grokscope bench --all --budget 600 -o all.json

        grokscope bench --experiment si-fig3 --full -o si-fig3.json

        grokscope bench --from speed.json --pictures .
    """
    from ..bench.report import as_text, machine, picture, tables
    from ..bench.stored import read_measured, save_measured
    from ..figures.style import save
    from ..store import check_writable

    if output:
        check_writable(output.parent)
    if (budget is not None or again) and not every:
        raise ConfigError(
            "--budget" if budget is not None else "--again", "only --all has entries to choose from; add it"
        )
    if every and (scaling or sweep or startup or demo or watch or pictures or stored):
        raise ConfigError(
            "--all", "cannot be combined with --scaling, --sweep, --startup, --demo, --watch, --pictures or --from"
        )
    if full and not experiments:
        raise ConfigError("--full", "only --experiment has two sizes; add it")
    if experiments and (every or scaling or sweep or startup or demo or watch or pictures or stored):
        raise ConfigError(
            "--experiment",
            "cannot be combined with --all, --scaling, --sweep, --startup, --demo, --watch, --pictures or --from",
        )
    if experiments and (settings or lanes or precision):
        option = "--set" if settings else "--lanes" if lanes else "--precision"
        raise ConfigError(option, "an experiment has its own settings; remove it")
    if pictures and stored is None and not scaling:
        raise ConfigError("--pictures", "there is nothing to draw; add --scaling")
    if every:
        measured = _measure_all(parse_sets(settings), lanes, precision, seconds or 1.0, budget, again, output, device)
    elif experiments:
        measured = _measure_experiments(experiments, full, seconds or 1.0, output, device)
    elif stored is None:
        seconds = seconds or 5.0
        also = {"scaling": scaling, "sweep": sweep, "startup": startup, "demo": demo, "watch": watch}
        measured = _measure(parse_sets(settings), lanes, precision, seconds, also, output, device)
    else:
        measured = read_measured(stored)
    if output and (every or stored):
        save_measured(output, measured)
    if pictures:
        if not measured.get("scaling"):
            raise ConfigError("--pictures", f"{stored} has nothing to draw: it was measured without --scaling")
        save(picture(measured), pictures / "scaling")
    if as_json:
        print(to_json(measured))
        return
    print(f"{machine(measured)}, torch {measured['torch']}\n{measured['command']}")
    for table in tables(measured):
        print(f"\n{as_text(table)}")


def _measure(
    sets: dict[str, str],
    lanes: str | None,
    precision: str | None,
    seconds: float,
    also: dict[str, bool],
    output: Path | None,
    device: str,
) -> dict[str, Any]:
    from ..bench import measure
    from ..bench import scaling as growth
    from ..bench import startup as start
    from ..bench.report import rounded
    from ..bench.stored import save_measured
    from ..bench.whole import sweeps
    from ..config.files import read_config
    from ..ops.devices import resolve_device

    config = read_config(None, sets).check()
    place = resolve_device(device)
    counts = _counts(lanes or LANES[place.type])
    precisions = (precision or sets.get("precision") or PRECISION[place.type]).split(",")
    for name in precisions:
        measure.in_precision(config, name)  # raises before anything is timed

    def notify(what: str) -> None:
        print(f"timing {what} …", file=sys.stderr)

    measured: dict[str, Any] = {"command": _command_with_name(output)}

    def add(parts: dict[str, Any]) -> None:
        """What was measured is stored at once: an interrupt loses nothing."""
        measured.update(rounded(parts))
        if output:
            save_measured(output, measured)

    add(measure.bench(config, counts, place, precisions=precisions, seconds=seconds, notify=notify))
    if also["startup"]:
        notify("start-up")
        first = start.first_step(config, place) if place.type == "cuda" else {}
        add({"startup": start.startup() | first})
    if also["demo"]:
        notify("the demo")
        add({"demo_s": _demo_seconds(place)})
    if also["watch"]:
        from ..bench.watching import overhead

        notify("a watched network")
        add({"watch": overhead()})
    if also["sweep"]:
        add({"sweep": sweeps(config, measured["fleet"], place, seconds=seconds, notify=notify)})
    if also["scaling"]:
        own = measure.in_precision(config, precisions[0])
        rows: list[dict[str, Any]] = []
        for row in growth.scaling(own, place, seconds=min(seconds / 4, 1.0), notify=notify):
            rows.append(row)
            add({"scaling": rows})
    return measured


def _measure_all(
    sets: dict[str, str],
    lanes: str | None,
    precision: str | None,
    seconds: float,
    budget: float | None,
    again: bool,
    output: Path | None,
    device: str,
) -> dict[str, Any]:
    from ..bench.every import bench_all
    from ..bench.measure import in_precision
    from ..bench.stored import read_measured, save_measured
    from ..config.files import read_config
    from ..ops.devices import resolve_device

    place = resolve_device(device)
    chosen = (precision or sets.get("precision") or PRECISION[place.type].split(",")[0]).split(",")
    counts = _counts(lanes) if lanes else [None]
    for option, values in (("--precision", chosen), ("--lanes", counts)):
        if len(values) > 1:
            raise ConfigError(option, "--all takes one value, not several")
    base = in_precision(read_config(None, sets), chosen[0]).check()
    command = {"command": _command_with_name(output)}

    def save(measured: dict[str, Any]) -> None:
        if output:
            save_measured(output, command | measured)

    measured = bench_all(
        base,
        place,
        lanes=counts[0],
        seconds=seconds,
        budget=budget,
        stored=read_measured(output, "--output") if output and output.exists() and not again else None,
        save=save,
        notify=lambda what: print(what, file=sys.stderr, flush=True),
    )
    return command | measured


def _measure_experiments(
    names: list[str], full: bool, seconds: float, output: Path | None, device: str
) -> dict[str, Any]:
    from ..bench.experiments import whole_experiment
    from ..bench.measure import machine
    from ..bench.report import rounded
    from ..bench.stored import save_measured
    from ..experiments.base import matching_experiments
    from ..launch.precision import auto_precision
    from ..ops.devices import resolve_device

    place = resolve_device(device)
    scale: Scale = "full" if full else "quick"
    asked: dict[str, list[RunConfig]] = {}
    for experiment in matching_experiments(names):
        if experiment.prepare is not None:
            raise ConfigError(
                "--experiment", f"{experiment.name} takes its settings from an earlier tuning; choose another"
            )
        own = [config for _, config in experiment.configs(scale, precision=auto_precision(place))]
        for config in own:
            config.task.require_data()
        asked[experiment.name] = own
    measured: dict[str, Any] = {"command": _command_with_name(output), **machine(place), "scale": scale}
    measured["experiments"] = []
    for name, configs in asked.items():
        row = whole_experiment(
            name, configs, place, seconds=seconds, notify=lambda what: print(f"timing {what} …", file=sys.stderr)
        )
        measured["experiments"].append(rounded(row))
        if output:
            save_measured(output, measured)
    return measured


def _command_with_name(output: Path | None) -> str:
    """The command as it was typed, with the name of the output file alone: its folder means nothing on another machine."""
    import shlex

    words = [output.name if output and word == str(output) else word for word in sys.argv[1:]]
    return shlex.join(["grokscope", *words])


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
