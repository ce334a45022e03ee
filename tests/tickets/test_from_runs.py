"""Tickets from stored runs: found, refused, saved with the run, and resumed."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import Log
from grokscope.errors import ConfigError, StoreError
from grokscope.fleet.start import initial_weights
from grokscope.launch.local import ticket_origin, train, train_all
from grokscope.models.transformer import Transformer
from grokscope.store import kept_epochs, read_checkpoint
from grokscope.tickets.initial import Random
from grokscope.tickets.trained import Magnitude, Saved


@pytest.fixture
def dense(tiny, tmp_path):
    (run,) = train(replace(tiny, log=Log(every=4, keep=4)), runs=tmp_path)
    return run


def masks(run):
    return {n.removeprefix("mask/"): t for n, t in read_checkpoint(run).tensors.items() if n.startswith("mask/")}


def test_a_ticket_comes_from_the_epoch_asked_for(dense, tiny, tmp_path):
    assert kept_epochs(dense) == [4, 8, 12]
    for epoch, saved in ((4, 4), ("last", 12)):
        origin = ticket_origin(replace(tiny, ticket=Magnitude(run=dense.id, epoch=epoch)), tmp_path)
        assert torch.equal(origin.trained["W_in"], read_checkpoint(dense, saved).tensors["weight/W_in"])
        assert torch.equal(origin.start["W_in"], initial_weights(tiny)["W_in"])


def test_tickets_train_side_by_side_and_keep_their_masks(dense, tiny, tmp_path):
    tickets = [Magnitude(run=dense.id), Magnitude(run=dense.id, epoch=4, rate=0.3), Random(rate=0.5)]
    runs = train_all([replace(tiny, ticket=ticket) for ticket in tickets], runs=tmp_path)
    assert [run.status for run in runs] == ["done"] * 3
    expected = read_checkpoint(dense).tensors["weight/W_U"].abs()
    for run, rate in zip(runs, (0.6, 0.3, 0.5), strict=True):
        size = expected.numel()
        assert int(masks(run)["W_U"].sum()) == size - round(rate * size)
        assert (read_checkpoint(run).tensors["weight/W_U"][~masks(run)["W_U"]] == 0).all()
    assert expected[masks(runs[0])["W_U"]].min() >= expected[~masks(runs[0])["W_U"]].max()


def test_a_mask_can_be_given_to_a_later_run(dense, tiny, tmp_path):
    (ticket,) = train(replace(tiny, ticket=Random(rate=0.5)), runs=tmp_path)
    (heir,) = train(replace(tiny, seed=3, ticket=Saved(run=ticket.id, weights="fresh")), runs=tmp_path)
    assert all(torch.equal(masks(heir)[name], mask) for name, mask in masks(ticket).items())
    (nothing,) = (replace(tiny, ticket=Saved(run=dense.id)),)
    with pytest.raises(ConfigError, match="without a mask"):
        train(nothing, runs=tmp_path)


def test_a_stopped_ticket_goes_on_although_its_origin_is_gone(dense, tiny, tmp_path):
    import os
    import shutil
    import signal

    class PressAt:
        def update(self, lanes, waiting):
            if lanes[0].epoch == 5:
                os.kill(os.getpid(), signal.SIGINT)

    config = replace(tiny, ticket=Magnitude(run=dense.id))
    (whole,) = train(config, runs=tmp_path)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(dense.path, elsewhere / dense.id)
    (stopped,) = train(config, runs=elsewhere, progress=PressAt())
    assert stopped.status == "stopped"
    for file in (elsewhere / dense.id / "checkpoints").iterdir():
        file.unlink()
    (resumed,) = train(config, runs=elsewhere)
    assert resumed.status == "done"
    one, other = (read_checkpoint(run).tensors for run in (whole, resumed))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_cannot_be_is_told_in_one_line(dense, tiny, tmp_path):
    with pytest.raises(StoreError, match="no checkpoint of epoch 5, only of 4, 8, 12"):
        train(replace(tiny, ticket=Magnitude(run=dense.id, epoch=5)), runs=tmp_path)
    with pytest.raises(StoreError, match="no t_grok: never reached by epoch 12"):
        train(replace(tiny, ticket=Magnitude(run=dense.id, epoch="t_grok")), runs=tmp_path)
    with pytest.raises(ConfigError, match="other weights"):
        train(replace(tiny, model=Transformer(d=12, d_mlp=16), ticket=Magnitude(run=dense.id)), runs=tmp_path)
    with pytest.raises(StoreError, match="Did you mean"):
        train(replace(tiny, ticket=Magnitude(run="0000")), runs=tmp_path)
