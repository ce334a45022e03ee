"""`bench --all`: every entry beside its plain loop, one after another; what a file holds already is not timed again."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from ..config import RunConfig
from ..errors import ConfigError, GrokscopeError
from ..launch.plan import MOST_WORKERS, plan_workers
from ..launch.scheduler import usable_cores
from .ceilings import copy_rate, products_seconds
from .entries import Entry, entries, origin_for
from .fleet import FleetLoop, free, out_of_memory
from .measure import Notify, Row, limit, machine, silent, timed
from .plain import PlainLoop
from .report import rounded
from .trace import step_cost
from .verify import check_same_network

Measured = dict[str, Any]
LANES = 64
"""Default number of lanes on a GPU."""
ROUNDS = {"cpu": 3, "cuda": 1}
"""How often the plain loop and the fleet are timed in turn."""
CALL = 0.05
"""A call that is timed takes at least about this many seconds: on a CPU every call starts its threads."""
NUMBERS = (
    "plain_run_steps_per_s",
    "run_steps_per_s",
    "ratio",
    "limit",
    "of_limit",
    "diagnostics",
    "multiply_adds",
    "bytes",
)


def bench_all(
    base: RunConfig,
    device: torch.device,
    *,
    lanes: int | None = None,
    seconds: float = 1.0,
    budget: float | None = None,
    stored: Measured | None = None,
    save: Callable[[Measured], None] = lambda measured: None,
    notify: Notify = silent,
) -> Measured:
    """One row per entry.

    lanes     runs at once; by default 64 on a GPU, and on a CPU as many as train at once
    seconds   how long the plain loop and the fleet are each timed, approximately
    budget    seconds after which no further entry is started
    stored    an earlier measurement on the same machine: its rows are kept where the settings are the same, each with the version
              of grokscope that it was measured with
    save      called with the measurement after every entry
    """
    begin = time.monotonic()
    kept = known_rows(stored, device)
    measured: Measured = {**machine(device), "precision": base.precision, "all": []}
    todo = list(entries(base))
    copied: float | None = None
    durations: list[float] = []
    rows: dict[str, Row] = {}
    for number, entry in enumerate(todo, start=1):
        same = settings(entry, base, device, lanes, seconds)
        if (row := kept.get(entry.name)) is not None and row["settings"] == same:
            rows[entry.name] = row
            continue
        spent = time.monotonic() - begin
        if budget is not None and durations and spent + 1.5 * statistics.mean(durations) > budget:
            notify(
                f"{spent:.0f} s of {budget:.0f} s are used up: {len(todo) - number + 1} entries are left or not checked"
            )
            break
        notify(f"{entry.name} ({number} of {len(todo)})")
        if copied is None:
            copied = copy_rate(device)
        since = time.monotonic()
        row = entry_row(entry, lanes, device, seconds, copied)
        rows[entry.name] = row | {"version": measured["version"], "settings": same}
        durations.append(time.monotonic() - since)
        if row["note"]:
            notify(f"{entry.name}: {row['note']}")
        save(measured | {"all": _in_order(todo, rows, kept)})
    return measured | {"all": _in_order(todo, rows, kept)}


def settings(entry: Entry, base: RunConfig, device: torch.device, lanes: int | None, seconds: float) -> dict[str, Any]:
    """Everything that a row depends on, apart from machine and versions."""
    plain = (entry.config or base).changes()
    found: dict[str, Any] = json.loads(json.dumps({"config": plain, "lanes": lanes, "seconds": seconds}))
    return found


def known_rows(stored: Measured | None, device: torch.device) -> dict[str, Row]:
    """The rows of an earlier measurement by entry. ConfigError if it is of another machine or another version of PyTorch."""
    if stored is None:
        return {}
    now = machine(device)
    for name in ("device", "threads", "torch"):
        if stored.get(name) != now[name]:
            raise ConfigError(
                "--output",
                f"the file holds a measurement of {name} {stored.get(name)}, and this is {now[name]}; choose another, or add "
                "--again to replace it",
            )
    rows = [{"version": stored.get("version"), **row} for row in stored.get("all", [])]
    return {row["entry"]: row for row in rows if not row["note"]}


def _in_order(todo: list[Entry], rows: Mapping[str, Row], kept: Mapping[str, Row]) -> list[Row]:
    """The rows in the order of the entries; those of an earlier measurement until they are replaced."""
    found = {**kept, **rows}
    return [found[entry.name] for entry in todo if entry.name in found]


def entry_row(entry: Entry, lanes: int | None, device: torch.device, seconds: float, copied: float) -> Row:
    """Plain loop, fleet and limit of one entry; `note` says why there are no numbers."""
    row: Row = {"entry": entry.name, "plain_loop": "", "trained": "", "lanes": 0, "note": entry.problem}
    row |= dict.fromkeys(NUMBERS)
    if entry.config is None:
        return row
    try:
        return row | rounded(
            _timed(entry.config, lanes or default_lanes(entry.config, device), device, seconds, copied)
        )
    except Exception as error:  # one entry must not end the others
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # raises if the device itself has failed, which would fail all others
        return row | {"note": "out of memory" if out_of_memory(error) else _first_line(error)}
    finally:
        free(device)


def default_lanes(config: RunConfig, device: torch.device) -> int:
    """As many runs as `sweep` trains at once on a CPU; 64 on a GPU."""
    if device.type == "cuda":
        return LANES
    return plan_workers([config] * MOST_WORKERS["cpu"], device, usable_cores())


def _timed(config: RunConfig, lanes: int, device: torch.device, seconds: float, copied: float) -> Row:
    origin = origin_for(config)
    loop = FleetLoop(config, lanes, device, origin)
    check_same_network(config, device, loop.programs[0], origin)
    free(device)
    cost = step_cost(config, origin)
    plain = PlainLoop(config, device, origin)
    rounds = ROUNDS[device.type]
    best: dict[str, float] = {}
    epochs = _epochs(loop)
    for _ in range(rounds):
        for name, step, look, steps in (
            ("plain", plain.step, plain.evaluate, 1),
            ("fleet", partial(loop.train, epochs), loop.evaluate, epochs * config.steps_per_epoch * lanes),
        ):
            taken, looked = timed(step, look, seconds / rounds, device)
            per_run = looked / (1 if name == "plain" else lanes)
            for part, value in ((f"{name} step", taken / steps), (f"{name} look", per_run)):
                best[part] = min(value, best.get(part, value))
    how, label = loop.how, plain.label
    loop.close()
    del plain, loop
    free(device)
    products = products_seconds(cost.products, lanes, config.precision, device)
    looks = {name: best[f"{name} look"] / config.log.every / config.steps_per_epoch for name in ("plain", "fleet")}
    rates = {name: 1 / (best[f"{name} step"] + looks[name]) for name in looks}
    moved = sum(cost.bytes.values())
    at_most = limit(products, moved, copied)
    return {
        "plain_loop": label,
        "trained": how,
        "lanes": lanes,
        "plain_run_steps_per_s": rates["plain"],
        "run_steps_per_s": rates["fleet"],
        "ratio": rates["fleet"] / rates["plain"],
        "limit": at_most,
        "of_limit": rates["fleet"] / at_most,
        "diagnostics": looks["fleet"] * rates["fleet"],
        "multiply_adds": cost.multiply_adds,
        "bytes": moved,
    }


def _epochs(loop: FleetLoop) -> int:
    """Epochs per timed call."""
    loop.train(1)  # records the graphs
    begin = time.perf_counter()
    loop.train(1)
    return max(1, min(64, round(CALL / max(time.perf_counter() - begin, 1e-6))))


def _first_line(error: Exception) -> str:
    if isinstance(error, GrokscopeError):
        return str(error)
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"[:200]
