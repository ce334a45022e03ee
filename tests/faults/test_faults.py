"""One fault at every call of the store while a small sweep trains: the same command again ends with the same rows, states and
checkpoints, bit for bit, as if nothing had happened; in between, a run that failed says so.

`make test` strikes at calls spread over the whole sweep; `make test-all` at every one.
"""

import math
import signal
import warnings
from collections import Counter, deque
from dataclasses import replace
from itertools import count

import pytest
import torch

from grokscope.config import Log
from grokscope.errors import StoreError
from grokscope.fleet import Fleet
from grokscope.launch.local import _job, train_all
from grokscope.launch.remaining import remaining
from grokscope.store import kept_epochs, list_runs, read_checkpoint, read_metrics

from .injection import KINDS, Faults

CPU = torch.device("cpu")
FEW = 5
"""Faults per kind of call in the short version."""
COUNTS = Counter()


def configs_of(tiny):
    return [replace(tiny, seed=seed, epochs=10 + 5 * seed, log=Log(every=5, keep=10)) for seed in range(3)]


class Stop:
    """Asks training to stop after some evaluations, as Ctrl-C does."""

    def __init__(self, after):
        self.left = after

    def update(self, lanes, waiting):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)


def one_by_one(configs, folder):
    """As on a CPU, stopped once in the middle."""
    for progress in (Stop(5), None):
        train_all(configs, runs=folder, lanes=1, device="cpu", save_every=math.inf, progress=progress)


class Noted(list):
    """Receives failures."""

    def busy(self, job, error):
        self.append(error)

    def failed(self, job, error):
        self.append(error)


def stacked(configs, folder):
    """As on a GPU, all lanes in one program, stopped once in the middle."""
    for steps in (8, math.inf):
        left, noted = set(remaining({config.id: config for config in configs}, folder)), Noted()
        jobs = deque(_job(config, folder, CPU, dict) for config in configs if config.id in left)
        if jobs:
            calls = count()
            Fleet(
                jobs,
                lanes=3,
                device=CPU,
                failures=noted,
                interrupted=lambda calls=calls, steps=steps: next(calls) >= steps,
                save_every=math.inf,
            ).run()
        if noted:
            raise StoreError(str(noted[0]))


WAYS = {"one by one": one_by_one, "stacked": stacked}
ALLOWED = {one_by_one: 0.0, stacked: 1e-6}
"""Largest difference: a stacked run that ends with fewer neighbours may be rounded differently."""


def content(folder):
    """Everything that numbers come from, by run."""
    return {
        run.id: (
            run.status,
            run.epoch,
            {name: value for name, value in run.summary.items() if name != "seconds"},
            read_metrics(run).to_pandas().drop(columns=["seconds", "seconds_per_step"]).to_dict("list"),
            {epoch: read_checkpoint(run, epoch).tensors for epoch in kept_epochs(run)},
        )
        for run in list_runs(folder)
    }


def difference(a, b, allowed, place=""):
    """Where two contents differ by more than allowed, or ""."""

    def all_of(pairs):
        return "; ".join(filter(None, (difference(x, y, allowed, f"{place}/{name}") for name, x, y in pairs)))

    if isinstance(a, torch.Tensor):
        apart = (a.double() - b.double()).abs().max().item()
        return f"{place} by {apart}" if apart > allowed else ""
    if isinstance(a, (dict, list, tuple)):
        if len(a) != len(b) or (isinstance(a, dict) and a.keys() != b.keys()):
            return f"{place}: {list(a)} and {list(b)}"
        return all_of((name, a[name], b[name]) for name in (a if isinstance(a, dict) else range(len(a))))
    if isinstance(a, float) and isinstance(b, float):
        return (
            ""
            if (a != a and b != b) or math.isclose(a, b, rel_tol=allowed, abs_tol=allowed)
            else f"{place}: {a} and {b}"
        )
    return "" if a == b else f"{place}: {a} and {b}"


@pytest.fixture(scope="module", params=list(WAYS))
def sweep(request, tmp_path_factory):
    """A way to train, what it leaves when nothing fails, and how many calls of each kind that takes."""
    from tests.conftest import tiny_config

    configs, way = configs_of(tiny_config()), WAYS[request.param]
    folder = tmp_path_factory.mktemp("undisturbed") / "runs"
    faults = Faults(folder)
    with faults.active():
        way(configs, folder)
    return way, configs, content(folder), faults.calls


def trial(sweep, kind, number, folder):
    """Train with one fault, look at what is left, train again; False if there were too few calls for the fault."""
    way, configs, reference, _ = sweep
    faults = Faults(folder, kind, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with faults.active():
            try:
                way(configs, folder)
                outcome = "not noticed by the caller"
            except StoreError:
                outcome = "reported"
    if not faults.struck:  # rows are appended by the clock: there may be fewer calls than in the first sweep
        return False
    if outcome == "not noticed by the caller":
        # a fault in something that may fail (signing the lock file): everything must be there already
        assert not difference(content(folder), reference, ALLOWED[way]), faults.struck
    for run in list_runs(folder) if folder.exists() else []:
        assert run.status != "damaged", (faults.struck, run.problem)
        assert run.status != "failed" or run.reason
        COUNTS[f"a run left {run.status}"] += run.status not in ("done", "grokked")
    way(configs, folder)
    assert not difference(content(folder), reference, ALLOWED[way]), faults.struck
    COUNTS[outcome] += 1
    return True


def places(calls, kind, few):
    total = calls[kind]
    return range(1, total + 1) if few is None else sorted({1 + i * (total - 1) // max(1, few - 1) for i in range(few)})


@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_loses_nothing(sweep, kind, tmp_path):
    strike_all(sweep, kind, tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_every_call_loses_nothing(sweep, kind, tmp_path):
    strike_all(sweep, kind, tmp_path, None)


def strike_all(sweep, kind, tmp_path, few):
    numbers = [number for number in places(sweep[3], kind, few) if number <= sweep[3][kind]]
    assert numbers
    struck = [number for number in numbers if trial(sweep, kind, number, tmp_path / f"{kind}-{number}")]
    assert len(struck) >= min(len(numbers), 2)
    print(f"\n{kind}: {len(struck)} of {sweep[3][kind]} calls struck; so far {dict(COUNTS)}")
