"""Runs with the same task and seed share their examples."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.fleet import data, splits
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.launch.local import train_in_memory
from grokscope.launch.memory import MemoryRun
from grokscope.models.transformer import Transformer
from grokscope.priors.support import SupportKL
from grokscope.tasks.modular import Modular


@pytest.fixture
def drawn(monkeypatch):
    """Arguments of every call of `Modular.split`."""
    calls = []
    split = Modular.split
    monkeypatch.setattr(Modular, "split", lambda task, seed: calls.append((task, seed)) or split(task, seed))
    return calls


def test_candidates_share_one_split(tiny, drawn):
    config = replace(tiny, task=Modular(p=11, distractors=2, train_fraction=0.8, validation=0.1))
    first, second = (lane_data(replace(config, prior=SupportKL(units=units))) for units in ((0, 1), (2, 3)))
    assert len(drawn) == 1
    assert first[0]["tokens"] is second[0]["tokens"] and first[2]["labels"].equal(second[2]["labels"])
    assert not first[0]["target"].equal(second[0]["target"])
    lane_data(replace(config, seed=1))
    lane_data(replace(config, task=replace(config.task, distractors=3)))
    assert len(drawn) == 3


def test_threads_that_ask_at_once_draw_once(tiny, monkeypatch):
    """The first draws until the second has asked, too."""
    calls, asked, split = [], threading.Barrier(2, timeout=60), Modular.split
    task = replace(tiny.task, p=13)

    def slow(task, seed):
        calls.append(seed)
        asked.wait()
        return split(task, seed)

    monkeypatch.setattr(Modular, "split", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(splits.split_of, task, 0)
        while not calls:
            time.sleep(0.001)
        second = pool.submit(splits.split_of, task, 0)
        while not second.running():
            time.sleep(0.001)
        asked.wait()
        assert first.result() is second.result()
    assert calls == [0]


def test_many_small_ones_are_kept(tiny, drawn):
    for _ in range(2):
        for seed in range(100, 100 + 3 * splits.KEPT):
            splits.split_of(tiny.task, seed)
    assert len(drawn) == 3 * splits.KEPT


def test_only_the_last_few_large_ones_are_kept(tiny, drawn, monkeypatch):
    monkeypatch.setattr(splits, "BYTES", 1)
    for seed in range(splits.KEPT + 1):
        splits.split_of(tiny.task, seed)
    splits.split_of(tiny.task, splits.KEPT)
    assert len(drawn) == splits.KEPT + 1
    splits.split_of(tiny.task, 0)
    assert len(drawn) == splits.KEPT + 2


def test_a_split_that_was_written_to_is_drawn_anew(tiny):
    own = splits.split_of(tiny.task, 5)
    before = own.train.labels.clone()
    own.train.labels.add_(1)
    assert splits.split_of(tiny.task, 5).train.labels.equal(before)


def test_a_task_that_cannot_be_hashed_is_not_kept(tiny):
    @dataclass(frozen=True, kw_only=True)
    class Listed(Modular):
        words: list[int] = field(default_factory=list)

    task = Listed(p=tiny.task.p)
    assert splits.split_of(task, 0).train.inputs.equal(task.split(0).train.inputs)


def test_a_split_with_global_randomness_is_not_kept(tiny, monkeypatch):
    split = Modular.split

    def random(task, seed):
        torch.rand(1)
        return split(task, seed)

    monkeypatch.setattr(Modular, "split", random)
    for _ in range(2):
        with pytest.raises(ConfigError, match="drew from the global generator of PyTorch"):
            splits.split_of(tiny.task, 0)


def test_tokens_that_two_runs_share_are_planned_once(tiny, monkeypatch):
    planned = []
    plan = data.plan
    monkeypatch.setattr(data, "plan", lambda tokens, *sizes: planned.append(len(tokens)) or plan(tokens, *sizes))
    config = replace(tiny, task=Modular(p=11, distractors=2, train_fraction=0.8), prior=SupportKL())
    program = Program(config, 3, torch.device("cpu"))
    for lane, units in enumerate(((0, 1), (2, 3))):
        own = replace(config, prior=SupportKL(units=units))
        program.load(lane, own, lane_data(own))
    assert len(planned) == 2, "training and test sequences"
    program.load(2, replace(config, seed=1), lane_data(replace(config, seed=1)))
    assert len(planned) == 4
    alone = Program(config, 1, torch.device("cpu"))
    for lane, seed in enumerate((0, 0, 1)):
        alone.load(0, replace(config, seed=seed), lane_data(replace(config, seed=seed)))
        for name, tensor in alone.test.items():
            assert tensor[0].equal(program.test[name][lane]), name


def test_programs_of_one_lane_plan_and_draw_once(tiny, monkeypatch):
    """On a CPU every candidate of a search has a program of its own."""
    planned, drawn = [], []
    plan, init = data.plan, Transformer.init
    monkeypatch.setattr(data, "plan", lambda tokens, *sizes: planned.append(len(tokens)) or plan(tokens, *sizes))
    monkeypatch.setattr(Transformer, "init", lambda model, *how: drawn.append(how) or init(model, *how))
    config = replace(tiny, task=Modular(p=11, distractors=2, train_fraction=0.8), epochs=2, precision="float32")
    own = [replace(config, prior=SupportKL(beta=1.0, units=units)) for units in ((0, 1), (2, 3), (1, 2))]
    others = [replace(own[0], seed=1), replace(own[0], model=replace(tiny.model, d=16))]
    together, alone = ([MemoryRun(one) for one in (*own, *others)] for _ in range(2))
    train_in_memory(together, device="cpu", lanes=1, fit_only=True)
    assert (len(planned), len(drawn)) == (2 * 3, 3), (
        "training and test sequences, of another seed and for another width once more"
    )
    for run in alone:
        train_in_memory([run], device="cpu", fit_only=True)
    for one, other in zip(together, alone, strict=True):
        assert [row["test_loss"] for row in one.rows] == [row["test_loss"] for row in other.rows]
