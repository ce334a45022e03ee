"""Fleets side by side: the same bits, one queue, errors and interrupts that reach every worker, and memory that runs out."""

import threading
from collections import deque
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.fleet import Fleet, Job, TrainingStats, engine
from grokscope.fleet.io_pool import IOPool
from grokscope.launch.plan import pack
from grokscope.launch.scheduler import Group, Scheduler
from grokscope.ops.team import team_of
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")


@pytest.fixture(params=[0, 2], ids=["alone", "with io_threads"])
def io_threads(request, monkeypatch):
    monkeypatch.setattr(engine, "IOPool", lambda io_threads: IOPool(request.param))


def scheduler_of(jobs, workers=2, lanes=1, **options):
    groups = [Group(waiting=deque(g), lanes=lanes) for g in pack((j.config, j) for j in jobs)]
    return Scheduler(groups, workers=workers, cores=2, device=CPU, **options)


def same(a, b):
    return all(torch.equal(a.saved[2][name], b.saved[2][name]) for name in b.saved[2])


def losses(sink):
    return [(row["epoch"], row["train_loss"]) for row in sink.rows]


@pytest.mark.matrix
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_company_and_workers_do_not_matter(tiny, memory, workers):
    other = replace(tiny, task=Modular(p=5, distractors=1, alphabet=2))
    configs = [replace(c, seed=s, epochs=5 + 3 * s) for c in (tiny, other) for s in range(4)]
    alone, many = ([Job(config=config, sink=memory()) for config in configs] for _ in range(2))
    with team_of(1) as team, team.member():
        for job in alone:
            Fleet([job], lanes=1, device=CPU).run()
    scheduler = Scheduler([Group(waiting=deque(many[::-1]), lanes=1)], workers=workers, cores=3, device=CPU)
    scheduler.run()
    for a, b in zip(many, alone, strict=True):
        assert a.sink.status == "done"
        assert a.sink.closed
        assert same(a.sink, b.sink)
        assert losses(a.sink) == losses(b.sink)
    assert scheduler.stats.run_steps == scheduler.stats.lane_steps == sum(config.epochs for config in configs)


def test_workers_take_turns_at_the_display_and_count_all_that_wait(tiny, memory):
    class Screen:
        inside, seen = 0, []

        def update(self, lanes, waiting):
            self.inside += 1
            assert self.inside == 1
            self.seen.append((threading.current_thread().name, len(lanes), waiting))
            self.inside -= 1

    both = threading.Barrier(2)

    class Awaited(memory):
        """A worker's first run waits until the other worker has one too."""

        met = threading.local()

        def resume(self):
            if not hasattr(self.met, "yes"):
                self.met.yes = both.wait(600) >= 0
            return super().resume()

    screen = Screen()
    jobs = [Job(config=replace(tiny, seed=s), sink=Awaited()) for s in range(8)]
    scheduler_of(jobs, progress=screen).run()
    assert len({name for name, _, _ in screen.seen}) == 2
    assert min(waiting for _, _, waiting in screen.seen) == 0
    assert max(waiting for _, _, waiting in screen.seen) > 0


def test_an_unexpected_error_stops_every_worker_and_nothing_is_lost(tiny, memory, io_threads):
    reached = threading.Event()

    class Failing(memory):
        def resume(self):
            assert reached.wait(600)
            raise RuntimeError("a bug in somebody's task")

    class Told:
        def update(self, lanes, waiting):
            if lanes[0].job is long and lanes[0].epoch >= 10:
                reached.set()

    other = replace(tiny, task=Modular(p=5, distractors=1, alphabet=2))
    long = Job(config=replace(tiny, epochs=10**9), sink=memory())
    short = Job(config=replace(other, epochs=1), sink=Failing())
    with pytest.raises(RuntimeError, match="a bug"):
        scheduler_of([long, short], lanes=1, progress=Told()).run()
    assert short.sink.reason == "RuntimeError: a bug in somebody's task"
    assert long.sink.status == "stopped"
    assert 10 <= long.sink.saved[0] < 10**9
    assert long.sink.closed
    assert short.sink.closed


@pytest.mark.matrix
def test_interrupting_reaches_every_worker_and_resuming_gives_the_same_bits(tiny, memory, io_threads):
    configs = [replace(tiny, seed=seed, epochs=60) for seed in range(6)]
    whole, first = ([Job(config=config, sink=memory()) for config in configs] for _ in range(2))
    scheduler_of(whole).run()
    asked = threading.Event()

    class Press:
        def update(self, lanes, waiting):
            if lanes[0].epoch == 20:
                asked.set()

    scheduler_of(first, progress=Press(), interrupted=asked.is_set).run()
    begun = [job for job in first if job.sink.saved]
    assert 1 <= len(begun) <= 6
    assert "stopped" in {job.sink.status for job in begun} <= {"stopped", "done"}
    rest = [Job(config=job.config, sink=memory(job.sink.saved)) for job in first]
    scheduler_of(rest, workers=3).run()
    for a, b in zip(rest, whole, strict=True):
        assert a.sink.status == "done"
        assert same(a.sink, b.sink)


def test_threads_are_given_back(tiny, memory):
    def elsewhere():
        found = []
        thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        return found[0]

    torch.set_num_threads(2)
    try:
        seen = []

        class Look:
            def update(self, lanes, waiting):
                seen.append(torch.get_num_threads())

        scheduler_of([Job(config=replace(tiny, seed=s), sink=memory()) for s in range(4)], progress=Look()).run()
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
        torch.ones(4).sum()
        assert elsewhere() == 2
    finally:
        torch.set_num_threads(1)


class SmallMemory(engine.Program):
    """A device that holds so many lanes; more fail at the first step, or when a program is made."""

    holds, early = 2, True

    def __init__(self, template, lanes, device, **how):
        if self.early and lanes > self.holds:
            raise torch.OutOfMemoryError("out of memory")
        super().__init__(template, lanes, device, **how)

    def train_epoch(self, epochs=1):
        if self.lanes > self.holds:
            raise torch.OutOfMemoryError("out of memory")
        super().train_epoch(epochs)


@pytest.mark.parametrize("early", [True, False])
def test_out_of_memory_goes_on_with_half_the_lanes(tiny, memory, monkeypatch, early, io_threads):
    jobs = [Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(5)]
    alike = [Job(config=job.config, sink=memory()) for job in jobs]
    scheduler_of(alike, workers=1, lanes=2).run()
    monkeypatch.setattr(engine, "Program", SmallMemory)
    monkeypatch.setattr(SmallMemory, "early", early)
    told = []
    scheduler_of(jobs, workers=1, lanes=4, notify=told.append).run()
    assert told == ["4 lanes do not fit into the memory of cpu; continuing with 2"]
    for a, b in zip(jobs, alike, strict=True):
        assert losses(a.sink) == losses(b.sink)
        assert same(a.sink, b.sink)


def test_out_of_memory_twice_is_one_clear_line(tiny, memory, monkeypatch, io_threads):
    monkeypatch.setattr(engine, "Program", SmallMemory)
    monkeypatch.setattr(SmallMemory, "holds", 1)
    jobs = [Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(8)]
    told = []
    with pytest.raises(ConfigError, match=r"^lanes: 4 lanes of these runs do not fit into the memory of cpu$"):
        scheduler_of(jobs, workers=1, lanes=8, notify=told.append).run()
    assert len(told) == 1
    assert all(job.sink.closed for job in jobs)


def test_on_a_gpu_every_worker_has_a_stream_and_every_group_one_fleet(tiny, memory, monkeypatch):
    """A pretended GPU: streams are only counted, and programs live on the CPU."""
    here, used, at_work, both = threading.local(), [], [], threading.Barrier(2)

    class Program(engine.Program):
        def __init__(self, template, lanes, device, **how):
            super().__init__(template, lanes, CPU, **how)
            used.append((threading.get_ident(), here.stream))

        def train_epoch(self, epochs=1):
            if not hasattr(here, "trains"):
                here.trains = both.wait(600)  # both workers train at once
            at_work.append(sum(group.fleets for group in team.groups))
            assert max(group.fleets for group in team.groups) == 1
            super().train_epoch(epochs)

    @contextmanager
    def on(stream):
        here.stream = stream
        yield

    monkeypatch.setattr(engine, "Program", Program)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: object())
    monkeypatch.setattr(torch.cuda, "stream", on)
    tasks = [Modular(p=p, distractors=1, alphabet=2) for p in (5, 7, 11)]
    jobs = [Job(config=replace(tiny, task=task, seed=s), sink=memory()) for task in tasks for s in range(5)]
    alike = [Job(config=job.config, sink=memory()) for job in jobs]
    team = scheduler_of(jobs, workers=2, lanes=3)
    team.device = torch.device("cuda")
    team.run()
    assert len(set(used)) == len({thread for thread, _ in used}) == 2
    assert max(at_work) == 2
    monkeypatch.undo()
    for group in pack((job.config, job) for job in alike):
        Fleet(group, lanes=3, device=CPU).run()
    for a, b in zip(jobs, alike, strict=True):
        assert a.sink.status == "done"
        assert losses(a.sink) == losses(b.sink)
        assert same(a.sink, b.sink)


@pytest.mark.parametrize(("shares", "opened"), [(True, 0), (False, 1)])
def test_a_fleet_that_shares_its_queue_opens_no_run_before_it_has_a_lane(tiny, memory, shares, opened):
    turns = []

    @contextmanager
    def turn():
        turns.append("begin")
        yield
        turns.append(len(fleet._active()))

    jobs = deque(Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(3))
    fleet = Fleet(jobs, lanes=2, device=CPU, io_threads=2, filling=turn(), shares=shares)
    fleet._advance = lambda: True  # interrupted after the first fill
    begun = []
    fleet._save_all = lambda status: begun.append(len(fleet.prefetched))
    fleet.run()
    assert turns == ["begin", 2] and begun == [opened]


def test_fleets_that_share_a_gpu_open_their_first_runs_one_after_the_other(tiny, memory, monkeypatch):
    turns, stop = [], []

    class Fleet:
        stats = TrainingStats()

        def __init__(self, jobs, *, filling, **how):
            self.jobs = jobs
            turns.append(filling)

        def run(self):
            self.jobs.clear()

    monkeypatch.setattr("grokscope.launch.scheduler.Fleet", Fleet)
    tasks = [Modular(p=p, distractors=1, alphabet=2) for p in (5, 7)]
    jobs = [Job(config=replace(tiny, task=task), sink=memory()) for task in tasks]
    scheduler = scheduler_of(jobs, interrupted=lambda: bool(stop))
    scheduler.device = torch.device("cuda")
    for group in scheduler.groups:
        scheduler._attempt(group)
    first, second = turns
    begun = []
    waiting = threading.Thread(target=lambda: second.__enter__() or begun.append("interrupted"))
    with first as free:
        waiting.start()
        waiting.join(0.2)
        assert free and waiting.is_alive() and not begun
        stop.append(True)
    waiting.join(600)
    assert begun == ["interrupted"]


def test_a_fleet_that_is_interrupted_before_its_turn_opens_nothing(tiny, memory):
    jobs = deque(Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(3))
    fleet = Fleet(jobs, lanes=2, device=CPU, filling=nullcontext(False))
    fleet.run()
    assert len(jobs) == 3 and fleet.program is None and not any(job.sink.saves for job in jobs)


def test_a_gpu_trains_its_only_group_with_two_fleets(tiny, memory):
    jobs = [Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(4)]
    scheduler = scheduler_of(jobs, lanes=2)
    scheduler.device = torch.device("cuda")
    (group,) = scheduler.groups
    assert scheduler._next() is scheduler._next() is group and group.fleets == 2
    scheduler.groups.append(Group(waiting=deque(), lanes=2))
    assert scheduler._next() is None  # a fleet for each of several groups


def test_memory_that_ran_out_for_two_fleets_of_a_group_halves_its_lanes_once(tiny, memory):
    jobs = [Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(4)]
    scheduler = scheduler_of(jobs, lanes=4)
    (group,) = scheduler.groups
    fleets = [Fleet(group.waiting, lanes=4, device=CPU) for _ in range(2)]
    for fleet in fleets:
        scheduler._back_off(group, fleet)
    assert group.lanes == 2
    with pytest.raises(ConfigError, match="do not fit"):
        scheduler._back_off(group, Fleet(group.waiting, lanes=2, device=CPU))
