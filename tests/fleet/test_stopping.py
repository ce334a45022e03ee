"""When a lane retires, on rows small enough to read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grokscope.config import Stop
from grokscope.fleet.stopping import StopRule


def judged(config, accuracies, every=50):
    stop_rule = StopRule(config)
    return [
        stop_rule.status_of({"epoch": every * row, "train_loss": 0.1, "test_accuracy": float(accuracy)})
        for row, accuracy in enumerate(accuracies)
    ]


@pytest.mark.parametrize(("correct", "threshold"), [(95, 0.95), (99, 0.99), (70, 0.7)])
def test_exactly_at_the_threshold_counts_as_it_is_stored(tiny, correct, threshold):
    config = replace(tiny, epochs=1000, stop=Stop(accuracy=threshold, window=100))
    stored = np.float32(correct / 100)
    assert judged(config, [stored] * 3) == [None, None, "grokked"]
    assert judged(config, [np.float32((correct - 1) / 100)] * 3) == [None, None, None]


def test_the_last_evaluation_alone_is_not_held(tiny):
    config = replace(tiny, epochs=100, stop=Stop(accuracy=0.99, window=100))
    assert judged(config, [0.1, 0.5, 1.0])[-1] == "done"
    assert judged(config, [0.1, 1.0, 1.0])[-1] == "grokked"
    assert judged(replace(config, stop=Stop(accuracy=0.99, window=0)), [0.1, 0.5, 1.0])[-1] == "grokked"


def test_an_extended_run_trains_on_for_as_long_as_it_took(tiny):
    config = replace(tiny, epochs=10_000, stop=Stop(accuracy=0.99, window=100, extend=1.0))
    verdicts = judged(config, [0.1] * 8 + [1.0] * 20)  # reached at epoch 400
    assert verdicts.index("grokked") == 16
    fallen = judged(config, [0.1] * 8 + [1.0] * 7 + [0.5] + [1.0] * 40)  # falls at 750, holds from 800
    assert fallen.index("grokked") == 32
    early = judged(config, [0.1] + [1.0] * 5)  # the window still has to be filled
    assert early.index("grokked") == 3


def test_without_an_extension_the_id_is_the_old_one(tiny):
    exact = replace(tiny, exact=True)
    assert "extend" not in exact.identity()["stop"]
    assert replace(exact, stop=replace(exact.stop, extend=1.0)).id != exact.id
