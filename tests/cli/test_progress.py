"""What the display counts, over all fleets."""

from dataclasses import replace

import pytest

from grokscope.cli.progress import Display
from grokscope.fleet import Job
from grokscope.fleet.engine import Lane
from grokscope.fleet.rules import Rules


def lane(config, epoch, seconds, status="running"):
    job = Job(config=config, sink=None)
    return Lane(job=job, rules=Rules(config), epoch=epoch, seconds=seconds, status=status)


def test_lanes_of_all_fleets_are_counted(tiny):
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(6)]
    display = Display(configs)
    display.update([lane(configs[0], 50, 10.0), lane(configs[1], 50, 10.0, "grokked")], 4)
    display.update([lane(configs[2], 20, 8.0)], 3)
    line = display._line(3)
    assert line.startswith("1 of 6 runs over, 2 training, 3 waiting, epoch 20, ")


def test_the_time_left_counts_those_that_wait(tiny):
    """Two in training: 20 s and 40 s for all their epochs, half and a fifth of them done. Three wait, 30 s each, for two lanes."""
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(5)]
    display = Display(configs)
    assert display._left(5) == 0
    display.update([lane(configs[0], 50, 10.0), lane(configs[1], 20, 8.0)], 3)
    assert display._left(0) == pytest.approx(32.0)
    assert display._left(3) == pytest.approx(32.0 + 3 * 30 / 2)
