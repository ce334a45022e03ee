"""The loop: retire, refill, diverge, interrupt."""

import math
import time
from dataclasses import replace

import pytest
import torch

from grokscope.config import Log, RunConfig, Stop
from grokscope.errors import StoreError
from grokscope.fleet import Fleet, Job, engine
from grokscope.fleet.io_pool import IOPool
from grokscope.fleet.stopping import StopRule
from grokscope.launch.plan import pack, signature
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")


@pytest.fixture(params=[0, 2], ids=["alone", "with io_threads"])
def io_threads(request, monkeypatch):
    """Fleets that do the host's work themselves, and fleets that have it done."""
    monkeypatch.setattr(engine, "IOPool", lambda io_threads: IOPool(request.param))
    return request.param


def run_fleet(configs, memory, lanes=2, **options):
    jobs = [Job(config=config, sink=memory()) for config in configs]
    # no saves by the clock: a slow machine would have more of them
    fleet = Fleet(jobs, lanes=lanes, device=CPU, **{"save_every": math.inf} | options)
    fleet.run()
    return fleet, [job.sink for job in jobs]


def test_every_run_is_trained_to_its_own_last_epoch(tiny, memory, io_threads):
    configs = [replace(tiny, seed=seed, epochs=epochs) for seed, epochs in enumerate((12, 5, 7, 20, 3))]
    fleet, sinks = run_fleet(configs, memory, lanes=2)
    for config, sink in zip(configs, sinks, strict=True):
        assert [row["epoch"] for row in sink.rows] == sorted({*range(0, config.epochs, 5), config.epochs})
        assert sink.status == "done"
        assert sink.closed
    assert fleet.stats.run_steps == sum(config.epochs for config in configs)


def test_a_refilled_lane_starts_from_its_own_seed(tiny, memory, io_threads):
    configs = [replace(tiny, seed=seed) for seed in range(4)]
    _, narrow = run_fleet(configs, memory, lanes=2)
    _, wide = run_fleet(configs, memory, lanes=4)
    for a, b in zip(narrow, wide, strict=True):
        assert all(torch.equal(a.saved[2][name], b.saved[2][name]) for name in b.saved[2])
        assert [{k: v for k, v in row.items() if "seconds" not in k} for row in a.rows] == [
            {k: v for k, v in row.items() if "seconds" not in k} for row in b.rows
        ]


def test_a_diverged_run_is_marked_and_hurts_no_other(tiny, memory):
    wild = replace(tiny, seed=1, optim=AdamW(lr=1e30, warmup=0.0, weight_decay=0.0))
    _, (calm, sick) = run_fleet([replace(tiny, seed=0), wild], memory)
    _, (alone, _) = run_fleet([replace(tiny, seed=0), replace(tiny, seed=5)], memory)
    assert sick.status == "diverged"
    assert sick.rows[-1]["epoch"] < tiny.epochs
    assert calm.status == "done"
    assert torch.equal(calm.saved[2]["weight/W_E"], alone.saved[2]["weight/W_E"])


def test_a_run_that_has_grokked_retires(memory):
    """Every pair is trained on but a few: the prior makes it generalise at once."""
    config = RunConfig(
        task=Modular(p=11, distractors=1, alphabet=1, train_fraction=0.9),
        model=Transformer(d=32, d_mlp=64),
        optim=AdamW(lr=1e-2),
        prior=KL(beta=0.3),
        epochs=3000,
        log=Log(every=20),
        stop=Stop(accuracy=0.9, window=40),
    )
    _, (sink,) = run_fleet([config], memory)
    assert sink.status == "grokked"
    last = sink.rows[-3:]
    assert all(row["test_accuracy"] >= 0.9 for row in last)
    assert sink.rows[-1]["epoch"] < 3000


def test_the_stop_rule_wants_a_sustained_window(tiny):
    stop_rule = StopRule(replace(tiny, epochs=1000, stop=Stop(accuracy=0.99, window=50)))
    told = [
        stop_rule.status_of({"epoch": epoch, "train_loss": 0.1, "test_accuracy": accuracy})
        for epoch, accuracy in [(0, 0.0), (25, 1.0), (50, 0.5), (75, 0.99), (100, 1.0), (125, 1.0)]
    ]
    assert told == [None, None, None, None, None, "grokked"]


def test_stopping_can_be_switched_off(tiny):
    stop_rule = StopRule(replace(tiny, epochs=100, stop=Stop(accuracy=0.0, window=0)))
    assert stop_rule.status_of({"epoch": 50, "train_loss": 0.1, "test_accuracy": 1.0}) is None
    assert stop_rule.status_of({"epoch": 100, "train_loss": 0.1, "test_accuracy": 1.0}) == "grokked"


def test_interrupting_saves_every_lane_and_resuming_gives_the_same_bits(tiny, memory, io_threads):
    configs = [replace(tiny, seed=seed, epochs=30) for seed in range(2)]
    _, through = run_fleet(configs, memory)
    calls = iter(range(100))
    _, stopped = run_fleet(configs, memory, interrupted=lambda: next(calls) == 13)
    assert [sink.saves[-1][:2] for sink in stopped] == [(13, "stopped")] * 2
    jobs = [Job(config=c, sink=memory(sink.saved)) for c, sink in zip(configs, stopped, strict=True)]
    Fleet(jobs, lanes=2, device=CPU).run()
    for whole, first, job in zip(through, stopped, jobs, strict=True):
        assert all(torch.equal(whole.saved[2][name], job.sink.saved[2][name]) for name in whole.saved[2])
        assert [row["train_loss"] for row in whole.rows] == [row["train_loss"] for row in first.rows + job.sink.rows]


def test_a_failing_folder_does_not_lose_the_others(tiny, memory, io_threads):
    class Locked(memory):
        def resume(self):
            raise StoreError("locked")

    good = Job(config=replace(tiny, seed=0, epochs=5), sink=memory())
    longer = Job(config=replace(tiny, seed=1, epochs=30), sink=memory())
    bad = Job(config=replace(tiny, seed=2), sink=Locked())
    try:
        Fleet([good, longer, bad], lanes=2, device=CPU, save_every=math.inf).run()
    except StoreError as error:
        assert str(error) == "locked"
    else:
        raise AssertionError("the error was swallowed")
    assert good.sink.status == "done"
    assert longer.sink.saves == [(5, "stopped", False)]
    assert longer.sink.closed


def test_kept_checkpoints_come_at_their_interval(tiny, memory, io_threads):
    _, (sink,) = run_fleet([replace(tiny, epochs=20, log=Log(every=5, keep=10))], memory)
    assert [(epoch, keep) for epoch, _, keep in sink.saves] == [(10, True), (20, False)]


def test_dense_evaluations_are_log_spaced_early():
    log, epoch, seen = Log(every=10, dense=True), 0, []
    while epoch < 40:
        epoch = log.next_after(epoch)
        seen.append(epoch)
    assert seen == [1, 2, 3, 4, 6, 8, 10, 11, 16, 20, 23, 30, 32, 40]


def test_packing_goes_by_shape_not_by_name(tiny):
    same = [
        tiny,
        replace(tiny, seed=3, epochs=99),
        replace(tiny, task=replace(tiny.task, op="-")),
        replace(tiny, prior=KL(beta=0.0, target="adversarial")),
        replace(tiny, optim=AdamW(lr=1.0, weight_decay=0.0)),
    ]
    others = [replace(tiny, task=Modular(p=11)), replace(tiny, model=Transformer(d=16)), replace(tiny, loss="mse")]
    assert len({signature(config) for config in same}) == 1
    assert len({signature(config) for config in (tiny, *others)}) == 4
    groups = pack([(config, number) for number, config in enumerate([*same, *others, tiny])])
    assert groups == [[0, 1, 2, 3, 4, 8], [5], [6], [7]]


def test_runs_that_stopped_between_evaluations_are_joined_at_one(tiny, memory, io_threads):
    """The fresh run waits for the resumed ones' evaluation at epoch 15: from then on all are due at the same time."""
    configs = [replace(tiny, seed=seed, epochs=40) for seed in range(3)]
    calls = iter(range(100))
    _, stopped = run_fleet(configs[:2], memory, interrupted=lambda: next(calls) == 13)
    jobs = [Job(config=c, sink=memory(s.saved)) for c, s in zip(configs[:2], stopped, strict=True)]
    jobs.append(Job(config=configs[2], sink=memory()))
    seen = []

    class Watch:
        def update(self, lanes, waiting):
            seen.append(sorted(lane.epoch for lane in lanes))

    Fleet(jobs, lanes=3, device=CPU, progress=Watch()).run()
    assert seen[:4] == [[15, 15], [0, 15, 15], [5, 20, 20], [10, 25, 25]]
    assert [[row["epoch"] for row in job.sink.rows] for job in jobs] == [list(range(15, 45, 5))] * 2 + [
        list(range(0, 45, 5))
    ]


def test_runs_out_of_step_with_each_other_train_all_the_same(tiny, memory, io_threads):
    """Stopped at 13 and at 7: the second joins at the first one's evaluation, and keeps its own."""
    jobs = []
    for seed, epoch in enumerate((13, 7)):
        config, calls = replace(tiny, seed=seed, epochs=30), iter(range(100))
        _, (sink,) = run_fleet([config], memory, interrupted=lambda calls=calls, at=epoch: next(calls) == at)
        jobs.append(Job(config=config, sink=memory(sink.saved)))
    Fleet(jobs, lanes=2, device=CPU).run()
    assert [[row["epoch"] for row in job.sink.rows] for job in jobs] == [[15, 20, 25, 30], [10, 15, 20, 25, 30]]
    _, whole = run_fleet([job.config for job in jobs], memory)
    for job, other in zip(jobs, whole, strict=True):
        assert all(torch.equal(job.sink.saved[2][name], other.saved[2][name]) for name in other.saved[2])


def test_idle_lanes_go_when_they_have_cost_enough(tiny, memory, monkeypatch):
    configs = [replace(tiny, seed=seed, epochs=epochs) for seed, epochs in enumerate((10, 10, 40, 40))]
    never, _ = run_fleet(configs, memory, lanes=4)
    monkeypatch.setattr(engine, "_idle_limit", lambda lanes: 0.0)
    at_once, _ = run_fleet(configs, memory, lanes=4)
    assert at_once.stats.lane_steps == at_once.stats.run_steps == 100
    assert (never.stats.run_steps, never.stats.lane_steps) == (100, 160)
    assert never.stats.to_dict()["lanes_busy"] == 0.625


def test_idle_lanes_stay_where_the_others_end_soon(tiny, memory, monkeypatch):
    """Two of four lanes are idle from epoch 10 on: by epoch 20 they have cost five steps, and cost less than five more if the
    others end at 25, fifteen if at 50."""
    monkeypatch.setattr(engine, "_idle_limit", lambda lanes: 5.0)
    for last, lane_steps in ((25, 4 * 25), (50, 4 * 20 + 2 * 30)):
        configs = [replace(tiny, seed=seed, epochs=epochs) for seed, epochs in enumerate((10, 10, last, last))]
        fleet, _ = run_fleet(configs, memory, lanes=4)
        assert fleet.stats.lane_steps == lane_steps, last


def test_saving_that_takes_long_is_done_less_often(tiny, memory, monkeypatch):
    """A clock that only saving moves (by 2 s) and evaluating (by 1 s): saves at most every 40 s, 5 % of the time."""
    now = [0.0]

    class Clock:
        perf_counter = staticmethod(time.perf_counter)

        @staticmethod
        def monotonic():
            return now[0]

    class Slow(memory):
        def save(self, **what):
            now[0] += 2.0
            super().save(**what)

    class Tick:
        def update(self, lanes, waiting):
            now[0] += 1.0

    monkeypatch.setattr(engine, "time", Clock)
    job = Job(config=replace(tiny, epochs=100, log=Log(every=1)), sink=Slow())
    Fleet([job], lanes=1, device=CPU, save_every=4.0, progress=Tick()).run()
    assert [epoch for epoch, _, _ in job.sink.saves] == [4, 45, 86, 100]


def test_rows_are_shown_before_they_are_saved_and_in_order(tiny, memory, io_threads, monkeypatch):
    monkeypatch.setattr("grokscope.fleet.engine._APPEND_EVERY", 0.0)
    monkeypatch.setattr("grokscope.fleet.engine._APPENDING", math.inf)
    seen = []

    class Watched(memory):
        def append(self, rows):
            super().append(rows)
            seen.append((len(self.appended), len(self.saves)))

    job = Job(config=replace(tiny, epochs=12, log=Log(every=3)), sink=Watched())
    Fleet([job], lanes=1, device=CPU, save_every=math.inf).run()
    assert seen == [(1, 0), (2, 0), (3, 0), (4, 0)]  # the last row is saved at once
    assert [row["epoch"] for row in job.sink.appended] == [0, 3, 6, 9]
    assert job.sink.rows[:4] == job.sink.appended


def test_rows_are_not_shown_more_often_than_the_bound_and_none_is_lost(tiny, memory, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("grokscope.fleet.engine.time.monotonic", lambda: 0.01 * next(clock))
    monkeypatch.setattr("grokscope.fleet.engine._APPEND_EVERY", 0.5)
    batches = []

    class Watched(memory):
        def append(self, rows):
            batches.append([row["epoch"] for row in rows])

    job = Job(config=replace(tiny, epochs=200, log=Log(every=1)), sink=Watched())
    Fleet([job], lanes=1, device=CPU, save_every=math.inf).run()
    shown = [epoch for batch in batches for epoch in batch]
    assert 2 < len(batches) < 50
    assert shown == list(range(len(shown)))
