"""The demo: what it trains."""

from grokscope.demo import configs


def test_memorisation_is_more_than_three_points():
    log = configs([0])[0].log
    epochs, epoch = [], 0
    while epoch < 75:
        epochs.append(epoch := log.next_after(epoch))
    assert len(epochs) > 12
