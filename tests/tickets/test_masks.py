"""Masks: exact counts, nesting, controls, transplants."""

import itertools
from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.models.transformer import Transformer
from grokscope.tasks.base import Shape
from grokscope.tickets import Origin, PruningContext
from grokscope.tickets.base import keep_top
from grokscope.tickets.initial import Random
from grokscope.tickets.trained import ControlledDense, Magnitude, Saved, Transplant

MODEL = Transformer(d=6, d_mlp=10)
SHAPE = Shape(vocabulary=9, length=4, test_length=4, classes=5, train_size=8, test_size=8)
PARAMETERS = MODEL.parameters(SHAPE)


def weights(seed):
    return MODEL.init(SHAPE, torch.Generator().manual_seed(seed))


def context():
    return PruningContext(
        parameters=PARAMETERS,
        weights=weights(0),
        fresh=lambda: weights(3),
        loss=lambda own: torch.zeros(()),
        signal=lambda own: torch.zeros(()),
        generator=torch.Generator().manual_seed(0),
        origin=Origin(weights(1), weights(2), {"W_in": weights(2)["W_in"] > 0}),
    )


def total(mask):
    return sum(int(m.sum()) for m in mask.values())


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.6, 0.99])
def test_counts_are_exact(rate):
    by_layer = Magnitude(run="r", rate=rate).draw(context()).mask
    for name, parameter in PARAMETERS.items():
        size = parameter.shape[0] * parameter.shape[1]
        assert int(by_layer[name].sum()) == size - round(rate * size)
    size = sum(p.shape[0] * p.shape[1] for p in PARAMETERS.values())
    assert total(Magnitude(run="r", rate=rate, scope="global").draw(context()).mask) == size - round(rate * size)
    assert total(Random(rate=rate).draw(context()).mask) == total(by_layer)


@pytest.mark.parametrize("scope", ["layer", "global"])
def test_magnitude_masks_are_nested_and_keep_the_largest(scope):
    masks = [Magnitude(run="r", rate=rate, scope=scope).draw(context()).mask for rate in (0.2, 0.5, 0.8)]
    for larger, smaller in itertools.pairwise(masks):
        assert all((larger[name] | ~smaller[name]).all() for name in larger)
    kept = torch.cat([weights(2)[n].abs()[m] for n, m in masks[1].items()])
    gone = torch.cat([weights(2)[n].abs()[~m] for n, m in masks[1].items()])
    if scope == "global":
        assert kept.min() > gone.max()
    for name, mask in masks[1].items():
        if mask.any() and not mask.all():
            assert weights(2)[name].abs()[mask].min() > weights(2)[name].abs()[~mask].max()


@pytest.mark.parametrize(("source", "seed"), [("start", 1), ("fresh", 3), ("trained", 2)])
def test_the_mask_is_put_on_the_weights_asked_for(source, seed):
    start = Magnitude(run="r", weights=source).draw(context())
    for name, weight in start.weights.items():
        assert torch.equal(weight, weights(seed)[name] * start.mask[name])


def test_only_the_named_parts_are_pruned():
    start = Magnitude(run="r", parts=("attention",)).draw(context())
    assert set(start.mask) == {"W_Q", "W_K", "W_V"}
    assert torch.equal(start.weights["W_in"], weights(1)["W_in"])


@pytest.mark.parametrize(("norm", "p"), [("l1", 1), ("l2", 2)])
def test_controlled_dense_has_the_tickets_norm_and_no_mask(norm, p):
    def length(own):
        return torch.cat([w.flatten() for w in own.values()]).norm(p)

    dense = ControlledDense(run="r", norm=norm).draw(context())
    ticket = Magnitude(run="r").draw(context())
    assert not dense.mask
    torch.testing.assert_close(length(dense.weights), length(ticket.weights))
    ratio = dense.weights["W_E"] / weights(1)["W_E"]
    assert ratio.std() < 1e-6
    assert 0 < ratio.mean() < 1


def test_transplant_takes_the_named_parts():
    start = Transplant(run="r", parts=("mlp",)).draw(context())
    assert torch.equal(start.weights["W_out"], weights(2)["W_out"])
    assert torch.equal(start.weights["W_Q"], weights(0)["W_Q"])
    assert not start.mask


def test_a_saved_mask_is_used_again():
    start = Saved(run="r", weights="fresh").draw(context())
    assert torch.equal(start.weights["W_in"], weights(3)["W_in"] * (weights(2)["W_in"] > 0))
    with pytest.raises(ConfigError, match="without a mask"):
        Saved(run="r").draw(context()._replace(origin=Origin(weights(1), weights(2), {})))


def test_of_equal_scores_the_first_stay():
    mask = keep_top({"a": torch.ones(4), "b": torch.ones(4)}, 0.5, "global")
    assert mask["a"].all() and not mask["b"].any()


@pytest.mark.parametrize(
    ("ticket", "field"),
    [
        (Magnitude(run="r", rate=1.0), "rate"),
        (Magnitude(run="r", rate=-0.1), "rate"),
        (Magnitude(), "run"),
        (Magnitude(run="r", epoch=-1), "epoch"),
        (Magnitude(run="r", parts=()), "parts"),
        (Transplant(run="r", parts=()), "parts"),
    ],
)
def test_impossible_tickets_are_refused(ticket, field, tiny):
    with pytest.raises(ConfigError) as error:
        replace(tiny, ticket=ticket).check()
    assert error.value.field == f"ticket.{field}"
