"""The line about runs that other processes train: how many there are, how fast, how long they will take."""

from dataclasses import replace

from grokscope.launch import overview, train_all


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


def test_speed_is_that_since_the_first_look(tiny, tmp_path, monkeypatch):
    clock, said = Clock(), []
    monkeypatch.setattr(overview, "time", clock)
    configs = [replace(tiny, seed=seed, epochs=40) for seed in range(3)]
    watch = overview.Watch({config.id: config for config in configs}, tmp_path, said.append)
    watch.update()
    assert said == []
    clock.now = 100.0  # when the workers have started
    watch.update()
    train_all(configs[:2], runs=tmp_path, device="cpu")
    clock.now = 110.0
    watch.update()
    assert said == [
        "0 of 3 runs finished, 0 training, 3 waiting",
        "2 of 3 runs finished, 0 training, 1 waiting, 8 epochs/s, at most 0:05 left",
    ]
