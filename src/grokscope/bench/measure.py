"""The plain loop, the ceilings of the device, and the fleet at several lane counts, one after another in one process."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from ..config import RunConfig
from ..ops.devices import device_name
from .ceilings import copy_rate, products_seconds, square_rate
from .entries import network_of
from .fleet import WINDOW, FleetLoop, fastest_window, free, loaded, out_of_memory
from .plain import PlainLoop
from .trace import Cost, Product, step_cost
from .verify import check_same_network

Notify = Callable[[str], None]
Row = dict[str, Any]
Loops = dict[tuple[str, int], FleetLoop]
"""By precision and lanes."""

EPOCHS = 4
"""Epochs of all lanes at a time: workers that share an odd number of lanes are seldom idle."""
ROUNDS = 8
"""Number of rounds over all timings on a CPU."""


def silent(what: str) -> None:
    """Report nothing."""


def bench(
    config: RunConfig,
    lanes: Iterable[int],
    device: torch.device,
    *,
    precisions: Sequence[str] = ("float32",),
    seconds: float = 5.0,
    notify: Notify = silent,
) -> dict[str, Any]:
    """Run-steps per second of the fleet, of the plain loop, and the limits of the device.

    All are timed equally long and in turn, on a CPU several times, and the fastest window of each counts. The plain loop, in the
    first precision, and the fleet are checked to compute the same beforehand (`verify.py`).
    """
    lanes = list(lanes)
    for precision in precisions:
        notify(f"check of the plain loop, {precision}")
        own = in_precision(config, precision)
        seeds = [own.seed, own.seed + 1] if device.type == "cuda" and max(lanes) > 1 else [own.seed]
        check_same_network(own, device, loaded(own, seeds, device))
    cost = step_cost(config)
    loop = PlainLoop(in_precision(config, precisions[0]), device)
    asked = [(precision, count) for precision in precisions for count in lanes]
    plain: tuple[float, float] | None = None
    best: dict[tuple[str, int], Row] = {}
    loops: Loops | None = None if device.type == "cuda" else {}
    rounds = 1 if device.type == "cuda" else ROUNDS
    for turn in range(rounds):
        again = f" ({turn + 1} of {rounds})" if rounds > 1 else ""
        notify("plain loop" + again)
        now = timed(loop.step, loop.evaluate, seconds / rounds, device)
        plain = now if plain is None else (min(plain[0], now[0]), min(plain[1], now[1]))
        for precision, count in asked:
            notify(f"{count} lanes, {precision}{again}")
            own = in_precision(config, precision)
            row = fleet_row(own, cost.products, count, device, seconds / rounds, loops)
            best[precision, count] = faster(best.get((precision, count)), row, config)
    assert plain is not None
    plain_rate = 1 / (plain[0] + plain[1] / config.log.every / config.steps_per_epoch)
    notify("limits of the device")
    ceilings: dict[str, Any] = {
        "copy_bytes_per_s": copy_rate(device),
        "square_operations_per_s": {precision: square_rate(precision, device) for precision in precisions},
    }
    counted = counts(config, cost)
    for row in best.values():
        row |= {"ratio": None, "limit": None, "of_limit": None}
        if row["run_steps_per_s"] is not None:
            row["limit"] = limit(row["products_s"], counted["bytes"], ceilings["copy_bytes_per_s"])
            row |= {"ratio": row["run_steps_per_s"] / plain_rate, "of_limit": row["run_steps_per_s"] / row["limit"]}
    return {
        **machine(device),
        "network": network_of(config),
        "plain_run_steps_per_s": plain_rate,
        "plain_loop": loop.label,
        "counts": counted,
        "ceilings": ceilings,
        "fleet": list(best.values()),
    }


def in_precision(config: RunConfig, name: str) -> RunConfig:
    """The config with another precision of matrix products."""
    return RunConfig.from_dict({**config.to_dict(), "precision": name})


def machine(device: torch.device) -> dict[str, Any]:
    """The machine and versions of a measurement."""
    from .. import __version__

    name = device_name(device) if device.type == "cuda" else f"{platform.machine()} CPU"
    threads = None if device.type == "cuda" else torch.get_num_threads()
    return {"device": name, "threads": threads, "version": __version__, "torch": torch.__version__}


def counts(config: RunConfig, cost: Cost) -> dict[str, Any]:
    """The cost of a run-step, as traced in `trace.py`."""
    return {
        "examples": config.batch_size or config.task.shape.train_size,
        "multiply_adds": cost.multiply_adds,
        "lookups": cost.lookups,
        "elementwise": cost.elementwise,
        "bytes": sum(cost.bytes.values()),
        "bytes_by_kind": cost.bytes,
        "activations": cost.activations,
    }


def fleet_row(
    config: RunConfig,
    products: Sequence[Product],
    lanes: int,
    device: torch.device,
    seconds: float,
    loops: Loops | None = None,
) -> Row:
    """The fleet at one lane count, and the matrix products of its step by themselves; numbers are missing where memory ran out.

    loops   from earlier rounds; None keeps none, since they do not all fit on a GPU

    diagnostics   fraction of the time spent on evaluations at the config's interval
    step_s        seconds of a run-step, evaluations not counted
    look_s        seconds of an evaluation of one run
    products_s    seconds of its matrix products
    """
    row: Row = {"precision": config.precision, "lanes": lanes}
    row |= dict.fromkeys(("run_steps_per_s", "diagnostics", "step_s", "look_s", "products_s", "step_over_products"))
    try:
        loop = None if loops is None else loops.get((config.precision, lanes))
        if loop is None:
            loop = FleetLoop(config, lanes, device)
        if loops is not None:
            loops[config.precision, lanes] = loop
        epochs, look = timed(partial(loop.train, EPOCHS), loop.evaluate, seconds, device)
        del loop
        free(device)
        alone = products_seconds(products, lanes, config.precision, device, seconds)
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        return row
    finally:
        free(device)
    return with_rates(
        row | {"step_s": epochs / EPOCHS / config.steps_per_epoch / lanes, "look_s": look / lanes, "products_s": alone},
        config,
    )


def timed(
    step: Callable[[], object], look: Callable[[], object], seconds: float, device: torch.device
) -> tuple[float, float]:
    """Seconds of a step and of an evaluation, which is timed for a quarter as long but for one window at least."""
    least = min(WINDOW, seconds)
    return fastest_window(step, seconds, device), fastest_window(look, max(seconds / 4, least), device)


def with_rates(row: Row, config: RunConfig) -> Row:
    """Rates derived from the seconds of a step, of an evaluation and of the products."""
    looks = row["look_s"] / config.log.every / config.steps_per_epoch
    return row | {
        "run_steps_per_s": 1 / (row["step_s"] + looks),
        "diagnostics": looks / (row["step_s"] + looks),
        "step_over_products": row["step_s"] / row["products_s"],
    }


def faster(one: Row | None, other: Row, config: RunConfig) -> Row:
    """The fastest of two timings for each part; missing where memory ran out."""
    if one is None or one["step_s"] is None or other["step_s"] is None:
        return other
    return with_rates(
        other | {name: min(one[name], other[name]) for name in ("step_s", "look_s", "products_s")}, config
    )


def limit(products_s: float, bytes_: int, copy_bytes_per_s: float) -> float:
    """Run-steps per second if only the products (at their measured rate) or the memory (at the rate of a copy) took time."""
    return 1 / max(products_s, bytes_ / copy_bytes_per_s)
