"""Several searches at once: what they ask for is trained side by side, each once."""

from types import SimpleNamespace

import pytest

from grokscope.race.together import together


def config(id, epochs=1):
    return SimpleNamespace(id=id, epochs=epochs)


def recorded():
    calls = []

    def train(configs, names):
        calls.append(sorted((one.id, one.epochs) for one in configs))
        return [SimpleNamespace(id=one.id, epoch=one.epochs) for one in configs]

    return calls, train


def test_requests_of_all_tasks_are_one_call():
    calls, train = recorded()

    def task(name, rounds):
        def work(train):
            return [train([config(f"{name}{n}")], [name])[0].id for n in range(rounds)]

        return work

    assert together([task("a", 2), task("b", 3), task("c", 0)], train) == [["a0", "a1"], ["b0", "b1", "b2"], []]
    assert calls == [[("a0", 1), ("b0", 1)], [("a1", 1), ("b1", 1)], [("b2", 1)]]


def test_a_run_that_two_ask_for_is_trained_once_to_the_later_epoch():
    calls, train = recorded()
    tasks = [lambda train, n=n: train([config("same", n)], ["x"])[0].epoch for n in (10, 30, 20)]
    assert together(tasks, train) == [30, 30, 30]
    assert calls == [[("same", 30)]]


def test_an_error_of_one_task_ends_all_of_them():
    _, train = recorded()

    def fails(train):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        together([lambda train: train([config("a")], ["a"]), fails], train)


def test_an_error_of_training_reaches_the_caller():
    def train(configs, names):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        together([lambda train: train([config("a")], ["a"])], train)
