"""An error in the midst of training loses nothing that was complete: a lane's rows and weights are saved together or not."""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from grokscope.config import Log
from grokscope.errors import StoreError
from grokscope.fleet import Fleet, Job, engine
from grokscope.fleet.io_pool import IOPool
from grokscope.measures import measures
from grokscope.optim.adamw import AdamW

CPU = torch.device("cpu")


@pytest.fixture(params=[0, 2], ids=["alone", "with io_threads"])
def io_threads(request, monkeypatch):
    monkeypatch.setattr(engine, "IOPool", lambda io_threads: IOPool(request.param))


class Fault:
    """Code of a user that fails while it is on."""

    on = False

    def check(self):
        if self.on:
            raise ZeroDivisionError("the user's own error")


@pytest.fixture
def fault():
    return Fault()


@pytest.fixture
def failing_measure(fault):
    @measures.register("failing")
    def failing(view):
        """Fails while the fault is on."""
        fault.check()
        return {"own": view.prior_loss}

    yield
    del measures.entries()["failing"]


class At:
    """Switches the fault on once all lanes have been evaluated at an epoch."""

    def __init__(self, fault, epoch):
        self.fault, self.epoch = fault, epoch

    def update(self, lanes, waiting):
        self.fault.on = min(lane.epoch for lane in lanes) >= self.epoch


def train(configs, memory, saved=None, **options):
    saved = saved or [None] * len(configs)
    jobs = [Job(config=config, sink=memory(state)) for config, state in zip(configs, saved, strict=True)]
    return Fleet(jobs, lanes=len(jobs), device=CPU, **options), [job.sink for job in jobs]


def resumed_equals_undisturbed(configs, memory, sinks):
    """Goes on from what was saved and compares tensors and rows with those of runs that were never stopped."""
    fleet, rest = train(configs, memory, [sink.saved for sink in sinks])
    fleet.run()
    fleet, whole = train(configs, memory)
    fleet.run()
    for first, second, complete in zip(sinks, rest, whole, strict=True):
        rows = [
            [(row["epoch"], row["train_loss"]) for row in part] for part in (first.rows + second.rows, complete.rows)
        ]
        assert rows[0] == rows[1]
        assert all(torch.equal(second.saved[2][name], complete.saved[2][name]) for name in complete.saved[2])


def test_a_measure_that_fails_leaves_the_last_complete_save(tiny, memory, io_threads, fault, failing_measure):
    configs = [replace(tiny, seed=seed, epochs=40, log=Log(every=5, keep=20)) for seed in range(2)]
    fleet, sinks = train(configs, memory, save_every=math.inf, progress=At(fault, 20))
    with pytest.raises(ZeroDivisionError):
        fleet.run()
    fault.on = False
    for sink in sinks:
        assert sink.closed
        # The weights are those of epoch 25, whose row is missing: they are not saved.
        assert sink.saves == [(20, "running", True)]
        assert sink.rows[-1]["epoch"] == 20
    resumed_equals_undisturbed(configs, memory, sinks)


def test_a_measure_that_fails_costs_only_the_lanes_that_it_was_evaluated_for(
    tiny, memory, io_threads, fault, failing_measure
):
    """The second lane is evaluated every 20 epochs: at epoch 25 it is between evaluations and complete."""
    configs = [replace(tiny, epochs=40), replace(tiny, seed=1, epochs=40, log=Log(every=20))]
    fleet, (due, other) = train(configs, memory, save_every=math.inf, progress=At(fault, 20))
    with pytest.raises(ZeroDivisionError):
        fleet.run()
    fault.on = False
    assert due.saves == []
    assert other.saves == [(25, "stopped", False)]
    assert [row["epoch"] for row in other.rows] == [0, 20]
    resumed_equals_undisturbed(configs, memory, [due, other])


def test_an_optimizer_that_fails_saves_every_lane_first(tiny, memory, io_threads, fault):
    @dataclass(frozen=True, kw_only=True)
    class Failing(AdamW):
        def update(self, *arguments, **options):
            fault.check()
            return super().update(*arguments, **options)

    configs = [replace(tiny, seed=seed, epochs=40, optim=Failing(lr=1e-2)) for seed in range(2)]
    asked = iter(range(100))

    def at_epoch_23():
        fault.on = next(asked) == 23
        return False

    fleet, sinks = train(configs, memory, save_every=math.inf, interrupted=at_epoch_23)
    with pytest.raises(ZeroDivisionError):
        fleet.run()
    fault.on = False
    assert [sink.saves for sink in sinks] == [[(23, "stopped", False)]] * 2
    resumed_equals_undisturbed(configs, memory, sinks)


def test_a_step_that_failed_in_the_midst_of_an_epoch_is_not_saved(tiny, memory, io_threads, fault):
    """Two batches per epoch, and the second one of epoch 13 fails: the weights belong to no epoch."""
    steps = iter(range(1, 1000))

    @dataclass(frozen=True, kw_only=True)
    class Failing(AdamW):
        def update(self, *arguments, **options):
            fault.on = next(steps) == 2 * 13
            fault.check()
            return super().update(*arguments, **options)

    config = replace(tiny, epochs=20, batch_size=14, optim=Failing(lr=1e-2))
    assert config.steps_per_epoch == 2
    fleet, (sink,) = train([config], memory, save_every=math.inf)
    with pytest.raises(ZeroDivisionError):
        fleet.run()
    assert sink.saves == []
    assert sink.closed
    resumed_equals_undisturbed([config], memory, [sink])


def test_the_first_steps_that_fail_leave_nothing_behind(tiny, memory, io_threads, fault):
    @dataclass(frozen=True, kw_only=True)
    class Failing(AdamW):
        def update(self, weights, gradient, state, **options):
            weights, state = super().update(weights, gradient, state, **options)
            return weights, {name: tensor[:2] for name, tensor in state.items()}  # does not fit into its place

    fleet, (sink,) = train([replace(tiny, optim=Failing(lr=1e-2))], memory)
    with pytest.raises(RuntimeError):
        fleet.run()
    assert sink.saves == []
    assert sink.closed


@pytest.mark.parametrize("epochs", [10, 40], ids=["ends at the same epoch", "goes on"])
def test_a_folder_that_fails_leaves_the_other_lanes_complete(tiny, memory, epochs):
    class Full(memory):
        def save(self, **what):
            raise StoreError("disk full")

    jobs = [
        Job(config=replace(tiny, epochs=10), sink=Full()),
        Job(config=replace(tiny, seed=1, epochs=epochs), sink=memory()),
    ]
    with pytest.raises(StoreError, match="disk full"):
        Fleet(jobs, lanes=2, device=CPU, save_every=math.inf).run()
    other = jobs[1].sink
    assert other.saves == [(10, "done" if epochs == 10 else "stopped", False)]
    assert [row["epoch"] for row in other.rows] == [0, 5, 10]
    assert other.closed
