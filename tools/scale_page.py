"""What planning and storing cost at 100,000 configurations, measured here, and what 64 GPUs would make of them, simulated.

    python -m tools.scale_page            # writes results/scale.json and docs/scale.md (minutes, and gigabytes of disk)
    python -m tools.scale_page --page     # writes the page from results/scale.json

Seconds are processor time of one core, except where a file system is waited for.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "results" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"
SPEED = ROOT / "results" / "speed" / "h200.json"
CONFIGS = 100_000
LISTED = (20_000, 100_000)
SAVED = 100
GPUS = 64
SMALLER = 128
EPOCHS = 10_000
GRID: dict[str, list[Any]] = {
    "prior.beta": [0.0, 0.03, 0.1, 0.3, 1.0],
    "optim.weight_decay": [0.1, 0.3, 1.0, 3.0],
    "optim.lr": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2],
    "model.d": [32, 64, 128, 256, 512],
}
"""Five model widths: five signatures, which cannot share a fleet."""


def plan(count: int) -> dict[str, Any]:
    """Cost of configs, ids, chunks and tasks."""
    from dataclasses import replace

    from grokscope.config import RunConfig, nested
    from grokscope.launch.chunks import chunk_size, cut
    from grokscope.launch.worker import make_task

    begin = time.process_time()
    points = [
        RunConfig.from_dict(nested(dict(zip(GRID, point, strict=True)) | {"precision": "tf32"})).check()
        for point in product(*GRID.values())
    ]
    seeds = count // len(points)
    configs = [replace(config, seed=seed) for config in points for seed in range(seeds)]
    made = time.process_time()
    ids = {config.id for config in configs}
    assert len(ids) == len(configs)
    named = time.process_time()
    chunks = cut(configs, size=chunk_size(len(configs), GPUS, gpu=True))
    planned = time.process_time()
    tasks = [json.dumps(make_task(chunk, runs=Path("runs"), device="cuda")) for chunk in chunks]
    packed = time.process_time()
    return {
        "configs": len(configs),
        "configs_s": made - begin,
        "ids_s": named - made,
        "cut_s": planned - named,
        "tasks_s": packed - planned,
        "chunks": len(chunks),
        "megabytes": sum(map(len, tasks)) / 1e6,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "chunk_runs": [len(chunk.configs) for chunk in chunks],
    }


def store(count: int) -> dict[str, Any]:
    """Cost of making a run, saving it once and closing it, with all waits for the disk."""
    import torch

    from grokscope.config import RunConfig
    from grokscope.store import RunFolder

    config = RunConfig().to_dict()
    tensors = {name: torch.zeros(120_000) for name in ("weights", "mean", "square")}
    rows = [{"epoch": epoch, **{f"m{n}": 0.5 for n in range(30)}} for epoch in range(100)]
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        for number in range(-1, count):
            if not number:  # the first one imports packages
                begin, cpu = time.perf_counter(), time.process_time()
            with RunFolder.create_or_open(folder, f"run{number}", config, device="cpu") as run:
                run.save(99, rows, tensors, {}, {}, status="done")
        spent, busy = time.perf_counter() - begin, time.process_time() - cpu
        files = list(Path(folder, "run0").rglob("*"))
        size = sum(path.stat().st_size for path in files if path.is_file())
    return {
        "runs": count,
        "ms": 1e3 * spent / count,
        "cpu_ms": 1e3 * busy / count,
        "entries": 1 + len(files),
        "kilobytes": size / 1e3,
    }


LIST = """
import resource, sys, time
from grokscope.store import list_runs
begin = time.process_time()
found = list_runs(sys.argv[1])
print(len(found), time.process_time() - begin)
"""


def listing(folder: Path) -> dict[str, Any]:
    """Processor seconds to list the runs without and with an index, and of the command with a filter."""
    (folder / ".index.json").unlink(missing_ok=True)
    words = [sys.executable, "-c", LIST, str(folder)]
    times = [subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "grokscope", "runs", "--runs", str(folder), "--where", "prior.beta=0.3"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "runs": int(times[0][0]),
        "first_s": float(times[0][1]),
        "again_s": float(times[1][1]),
        "command_s": spent,
        "index_mb": (folder / ".index.json").stat().st_size / 1e6,
    }


def simulate(chunks: Sequence[int], gpus: int, rate: float) -> dict[str, float]:
    """List scheduling of chunks on GPUs. Half of the runs stop early, at a random epoch, as runs that grok do.

    rate   run-steps per second of one GPU
    """
    draw = random.Random(0)
    work = [
        sum(EPOCHS if draw.random() < 0.5 else draw.uniform(0.1, 1.0) * EPOCHS for _ in range(runs)) / rate
        for runs in chunks
    ]
    free = [0.0] * gpus
    for seconds in work:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return {"hours": max(free) / 3600, "busy": sum(work) / (gpus * max(free)), "one_gpu_hours": sum(work) / 3600}


def make_listed(folder: Path, count: int) -> None:
    """Finished runs as far as a listing reads them: settings, manifest and state, without rows and weights."""
    from dataclasses import replace

    from grokscope.analysis import summary_of
    from grokscope.config import RunConfig, nested
    from grokscope.store.layout import CONFIG, MANIFEST, STATE, run_file
    from grokscope.store.manifest import new_manifest
    from grokscope.store.seal import sealed_json
    from grokscope.store.state import State

    epoch = [0, 500, 1000, EPOCHS]
    accuracy = {"train_accuracy": [0.1, 1.0, 1.0, 1.0], "test_accuracy": [0.1, 0.1, 1.0, 1.0]}
    summary = summary_of({"epoch": epoch, "seconds": epoch, **accuracy}) | {
        name: own[-1] for name, own in accuracy.items()
    }
    state = State(status="grokked", epoch=EPOCHS, seconds=60.0, rows=100, serial=3)
    points = [RunConfig.from_dict(nested(dict(zip(GRID, point, strict=True)))) for point in product(*GRID.values())]
    for number in range(count):
        config = replace(points[number % len(points)], seed=number // len(points))
        run = folder / config.id
        if run.exists():
            continue
        run.mkdir(parents=True)
        own = replace(state, summary=summary | {"t_grok": 1000 + number % 4999})
        files: dict[str, dict[str, Any]] = {
            CONFIG: config.to_dict(),
            MANIFEST: new_manifest("cpu", {"measures": ["D", "norms"]}),
            STATE: own.to_dict(),
        }
        for name, content in files.items():
            path, label = run_file(run, name)
            Path(path).write_bytes(sealed_json(content, label))


def measure(folder: Path) -> dict[str, Any]:
    lists = []
    for count in LISTED:
        make_listed(folder / str(count), count)
        lists.append(listing(folder / str(count)))
    return {"plan": plan(CONFIGS), "store": store(SAVED), "lists": lists}


def page(found: dict[str, Any]) -> str:
    from grokscope.launch.plan import MOST_LANES

    speed = json.loads(SPEED.read_text())
    fitting = [one for one in speed["fleet"] if one["precision"] == "tf32" and one["lanes"] <= MOST_LANES]
    best = max(fitting, key=lambda one: one["run_steps_per_s"])
    rate = best["run_steps_per_s"]
    made, kept, lists = found["plan"], found["store"], found["lists"]
    rows = [(gpus, simulate(made["chunk_runs"], gpus, rate)) for gpus in (1, 8, GPUS)]
    table = "\n".join(f"| {gpus} | {60 * one['hours']:,.0f} | {one['busy']:.0%} |" for gpus, one in rows)
    smaller = simulate([SMALLER] * (made["configs"] // SMALLER), GPUS, rate)
    listed = "\n".join(
        f"| {one['runs']:,} | {one['first_s']:.1f} | {one['again_s']:.2f} | {one['command_s']:.1f} | {one['index_mb']:.0f} |"
        for one in lists
    )
    values = {
        **{f"plan_{name}": value for name, value in made.items()},
        **{f"store_{name}": value for name, value in kept.items()},
        "gpus": GPUS,
        "epochs": EPOCHS,
        "rate": rate,
        "lanes": best["lanes"],
        "table": table,
        "rounds": made["chunks"] / GPUS,
        "smaller": SMALLER,
        "smaller_busy": smaller["busy"],
        "listed": listed,
        "finished": rate / EPOCHS,
        "core": kept["cpu_ms"] * 1e-3 * rate / EPOCHS,
        "all_finished": GPUS * rate / EPOCHS,
        "all_entries": GPUS * rate / EPOCHS * kept["entries"],
    }
    return TEXT.format(**values)


TEXT = """# At scale

What 100,000 configurations cost besides their training, and what 64 GPUs would make of them. Written by
`python -m tools.scale_page` from `results/scale.json`; seconds are processor time of one core of an ordinary x86-64 machine.

## The plan

{plan_configs:,} configurations (500 points of a grid with five model widths, 200 seeds), cut for {gpus} GPUs:

| step | seconds |
|---|---|
| make and check the configurations | {plan_configs_s:.1f} |
| their ids | {plan_ids_s:.1f} |
| cut them into {plan_chunks} chunks | {plan_cut_s:.1f} |
| pack the chunks as tasks, {plan_megabytes:,.0f} MB of JSON | {plan_tasks_s:.1f} |

The process takes {plan_memory_mb:,.0f} MB. A chunk is one task of the cluster, one device and one fleet: at most 512 runs of equal
shape. On SLURM the chunks of a stage are one array job.

## The store

Creating a run, saving 100 rows and a checkpoint of 1.4 MB, and closing it takes {store_cpu_ms:.1f} ms of processor time; from
start to end it took {store_ms:.0f} ms on the disk of this measurement. A finished run is {store_entries} files and folders. The
heartbeats of leases are one small write per run in training every ten seconds.

| stored runs | list them, s | with the index, s | `grokscope runs --where prior.beta=0.3`, s | index, MB |
|---|---|---|---|---|
{listed}

The index is written by the first command that lists a folder of 500 runs or more, and holds finished runs only.

## 64 GPUs

Arithmetic, not a measurement: each GPU trains {rate:,.0f} run-steps per second (one H200, TF32, {lanes} lanes, [speed](speed.md));
the {plan_configs:,} runs have {epochs:,} epochs, and half of them stop at a random epoch, as runs that grok do. Chunks are
handed to the next free GPU, in the order of the plan.

| GPUs | minutes | GPUs busy |
|---|---|---|
{table}

{plan_chunks} chunks on {gpus} GPUs are {rounds:.1f} rounds, so some GPUs wait at the end; with `ray.runs={smaller}` or
`slurm.runs={smaller}` {smaller_busy:.0%} would be busy, each in smaller fleets, which are slower.

This leaves out waiting in a queue, starting processes (some ten seconds per task), recording CUDA graphs, and that wider models
train more slowly. At that speed a GPU finishes {finished:.1f} runs of full length per second, which the store writes in
{core:.2f} seconds of one core; {gpus} GPUs finish {all_finished:,.0f}, and put about {all_entries:,.0f} new files and folders per
second on the shared file system. Where that is too much for it, give each job a folder of runs of its own on a local disk and
copy the folders together afterwards: runs are independent of each other.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write the page from the stored numbers")
    parser.add_argument("--folder", type=Path, help="folder for the runs that are listed; those it has are kept")
    given = parser.parse_args()
    if not given.page:
        with tempfile.TemporaryDirectory(prefix="scale-") as temporary:
            found = measure(given.folder or Path(temporary))
        RESULT.write_text(json.dumps(found) + "\n")
    PAGE.write_text(page(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
