"""Several searches at once: what they ask for is trained side by side, each once."""

import gc
from types import SimpleNamespace

import pytest

from grokscope.searching.together import together
from grokscope.searching.training import Trainer


def config(id, epochs=1):
    return SimpleNamespace(id=id, epochs=epochs)


def recorded():
    calls = []

    def train(configs, names):
        calls.append(sorted((one.id, one.epochs) for one in configs))
        return [SimpleNamespace(id=one.id, epoch=one.epochs, status="done") for one in configs]

    return calls, Trainer(train)


def test_requests_of_all_tasks_are_one_call():
    calls, train = recorded()

    def task(name, rounds):
        def work(trainer):
            return [trainer.stored([config(f"{name}{n}")], [name])[0].id for n in range(rounds)]

        return work

    assert together([task("a", 2), task("b", 3), task("c", 0)], train) == [["a0", "a1"], ["b0", "b1", "b2"], []]
    assert calls == [[("a0", 1), ("b0", 1)], [("a1", 1), ("b1", 1)], [("b2", 1)]]


def test_a_run_that_two_ask_for_is_trained_once_to_the_later_epoch():
    calls, train = recorded()
    tasks = [lambda trainer, n=n: trainer.stored([config("same", n)], ["x"])[0].epoch for n in (10, 30, 20)]
    assert together(tasks, train) == [30, 30, 30]
    assert calls == [[("same", 30)]]


def test_an_error_of_one_task_ends_all_of_them():
    _, train = recorded()

    def fails(trainer):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        together([lambda trainer: trainer.stored([config("a")], ["a"]), fails], train)


def test_an_error_of_training_reaches_the_caller():
    def train(configs, names):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        together([lambda trainer: trainer.stored([config("a")], ["a"])], Trainer(train))


class Run:
    """A run in memory."""

    def __init__(self, id, epochs):
        self.config, self.finished = config(id, epochs), False


def in_memory(calls, finish=True):
    def train(runs, names):
        calls.append(sorted(run.config.id for run in runs))
        for run in runs:
            run.finished = finish

    return train


def test_as_many_runs_in_memory_as_fit_and_the_latest_rungs_first(monkeypatch):
    monkeypatch.setattr("grokscope.searching.together.MOST", 4)
    calls, trainer = recorded()

    def task(name, sizes):
        def work(trainer):
            for rung, size in enumerate(sizes):
                trainer.memory([Run(f"{name}{rung}{n}", 10 + rung) for n in range(size)], [name] * size)
            trainer.stored([config(name)], [name])

        return work

    memory = []
    together([task("a", [3, 2]), task("b", [3, 1]), task("c", [5])], Trainer(trainer.stored, in_memory(memory)))
    assert [len(call) for call in memory] == [3, 2, 3, 1, 5]
    assert memory[1] == ["a10", "a11"], "a ends before b begins"
    assert calls == [[("a", 1), ("b", 1), ("c", 1)]]


def test_two_that_ask_for_the_same_run_in_memory_take_turns():
    memory = []
    tasks = [lambda trainer: trainer.memory([Run("same", 1)], ["x"])] * 2
    together(tasks, Trainer(recorded()[1].stored, in_memory(memory)))
    assert memory == [["same"], ["same"]]


def test_long_runs_wait_for_each_other():
    calls, trainer = recorded()

    def task(*epochs):
        return lambda trainer: [trainer.stored([config(f"{last} of {epochs}", last)], ["x"]) for last in epochs]

    together([task(1000), task(10, 1000), task(30, 2000)], trainer)
    assert [sorted(epochs for _, epochs in call) for call in calls] == [[10, 30], [1000, 1000, 2000]]


def test_after_an_interrupt_nothing_more_is_trained():
    memory = []

    def work(trainer):
        runs = [Run("a", 1)]
        trainer.memory(runs, ["a"])
        return runs[0].finished, trainer.stored([config("b")], ["b"])

    calls, trainer = recorded()
    found = together([work, work], Trainer(trainer.stored, in_memory(memory, finish=False)))
    assert found == [(False, [])] * 2
    assert memory == [["a"]] and calls == []


def test_what_searches_keep_is_not_searched_for_garbage_while_others_train():
    """Memory is looked up before every call of training, and the objects of thousands of candidates stay."""
    calls, train = recorded()
    spared, kept = [], [[] for _ in range(20)]

    def watched(configs, names):
        spared.append(not any(one is kept for one in gc.get_objects()))
        return train.stored(configs, names)

    together([lambda trainer: trainer.stored([config("a")], [""])], Trainer(watched))
    assert spared == [True] and len(calls) == 1
    assert gc.get_freeze_count() == 0
