"""The plain loop, the ceilings of the device, and the fleet at several lane counts, one after another in one process."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ..config import RunConfig
from ..devices import device_name
from .ceilings import copy_rate, products_seconds, square_rate
from .counts import bytes_layered, bytes_moved, lookups, multiply_adds, products
from .fleet import FleetLoop, epochs_per_second, free, out_of_memory
from .plain import plain_loop

Tell = Callable[[str], None]
Row = dict[str, Any]
Loops = dict[tuple[str, int], FleetLoop]
"""By precision and lanes."""

ROUNDS = 8
"""How often a CPU goes through all that is timed."""


def silent(what: str) -> None:
    """Say nothing of what is timed."""


def bench(
    config: RunConfig,
    lanes: Iterable[int],
    device: torch.device,
    *,
    precisions: Sequence[str] = ("float32",),
    seconds: float = 5.0,
    tell: Tell = silent,
) -> dict[str, Any]:
    """How many run-steps a second, beside the plain loop and beside what the device allows.

    All are timed equally long and in turn, on a CPU several times, and the fastest turn of each counts: what else a machine does
    can only slow them down, and none of them more than the others.
    """
    loop = plain_loop(config, device)
    loop(config.log.every)  # warm up
    asked = [(precision, count) for precision in precisions for count in lanes]
    plain, best = 0.0, dict[tuple[str, int], Row]()
    loops: Loops | None = None if device.type == "cuda" else {}
    rounds = 1 if device.type == "cuda" else ROUNDS
    for turn in range(rounds):
        again = f" ({turn + 1} of {rounds})" if rounds > 1 else ""
        tell("plain loop" + again)
        plain = max(plain, epochs_per_second(loop, config.log.every, seconds / rounds, device))
        for precision, count in asked:
            tell(f"{count} lanes, {precision}{again}")
            row = fleet_row(in_precision(config, precision), count, device, seconds / rounds, loops)
            best[precision, count] = faster(best.get((precision, count)), row)
    tell("what the device can do")
    ceilings: dict[str, Any] = {
        "copy_bytes_per_s": copy_rate(device),
        "square_operations_per_s": {precision: square_rate(precision, device) for precision in precisions},
    }
    counted = counts(config)
    for row in best.values():
        row |= {"ratio": None, "limit": None, "of_limit": None}
        if row["run_steps_per_s"] is not None:
            row["limit"] = limit(row["products_s"], counted["bytes"], ceilings["copy_bytes_per_s"])
            row |= {"ratio": row["run_steps_per_s"] / plain, "of_limit": row["run_steps_per_s"] / row["limit"]}
    return {
        **machine(device),
        "plain_run_steps_per_s": plain,
        "counts": counted,
        "ceilings": ceilings,
        "fleet": list(best.values()),
    }


def in_precision(config: RunConfig, name: str) -> RunConfig:
    """The config with another precision of matrix products."""
    return RunConfig.from_dict({**config.to_dict(), "precision": name})


def machine(device: torch.device) -> dict[str, Any]:
    """What the numbers were measured on and with."""
    from .. import __version__

    name = device_name(device) if device.type == "cuda" else f"{platform.machine()} CPU"
    threads = None if device.type == "cuda" else torch.get_num_threads()
    return {"device": name, "threads": threads, "version": __version__, "torch": torch.__version__}


def counts(config: RunConfig) -> dict[str, Any]:
    """What a run-step costs at least, as `counts.py` counts it."""
    moved = bytes_moved(config)
    counted: dict[str, Any] = {
        "examples": config.batch_size or config.task.shape.train_size,
        "multiply_adds": multiply_adds(config),
        "lookups": lookups(config),
        "bytes": sum(moved.values()),
        "bytes_by_kind": moved,
        "bytes_layered": {"float32": bytes_layered(config), "bf16": bytes_layered(config, 2)},
    }
    counted["table"] = {"multiply_adds": multiply_adds(config, "table"), "lookups": lookups(config, "table")}
    return counted


def fleet_row(config: RunConfig, lanes: int, device: torch.device, seconds: float, loops: Loops | None = None) -> Row:
    """The fleet at one lane count, and the matrix products of its step by themselves; numbers are missing where memory ran out.

    loops   from earlier turns; None keeps none, as a GPU has no room for all

    diagnostics   share of the time that goes into evaluations at the config's interval
    step_s        seconds of a run-step, evaluations not counted
    products_s    seconds of its matrix products
    """
    row: Row = {"precision": config.precision, "lanes": lanes}
    row |= dict.fromkeys(("run_steps_per_s", "diagnostics", "step_s", "products_s", "step_over_products"))
    try:
        loop = None if loops is None else loops.get((config.precision, lanes))
        if loop is None:
            loop = FleetLoop(config, lanes, device)
            loop(config.log.every)  # warm up
        if loops is not None:
            loops[config.precision, lanes] = loop
        loop.seconds = [0.0, 0.0]
        rate = epochs_per_second(loop, config.log.every, seconds, device) * config.steps_per_epoch * lanes
        share = loop.seconds[1] / sum(loop.seconds)
        del loop
        free(device)
        alone = products_seconds(products(config), lanes, config.precision, device, seconds)
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        return row
    finally:
        free(device)
    step = (1 - share) / rate
    return row | {
        "run_steps_per_s": rate,
        "diagnostics": share,
        "step_s": step,
        "products_s": alone,
        "step_over_products": step / alone,
    }


def faster(one: Row | None, other: Row) -> Row:
    """Of two timings of the same: the faster fleet, and the faster products beside it."""
    if one is None or one["run_steps_per_s"] is None or other["run_steps_per_s"] is None:
        return other
    row = max(one, other, key=lambda row: row["run_steps_per_s"])
    products_s = min(one["products_s"], other["products_s"])
    return row | {"products_s": products_s, "step_over_products": row["step_s"] / products_s}


def limit(products_s: float, bytes_: int, copy_bytes_per_s: float) -> float:
    """Run-steps a second if nothing but the products (at their measured rate) or the memory (at the rate of a copy) took time."""
    return 1 / max(products_s, bytes_ / copy_bytes_per_s)
