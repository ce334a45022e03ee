"""The LSTM in waves against torch.nn.LSTM, with padding against the sequence without it."""

import pytest
import torch
from torch import nn

from grokscope.errors import ConfigError
from grokscope.models.lstm import LSTM
from grokscope.ops.lookup import plan
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular

SHAPE = Modular(p=7, distractors=4, alphabet=3).shape
MODEL = LSTM(d=3, hidden=5)


def drawn(model=MODEL):
    generator = stream(0, "weights")
    return {
        name: torch.randn(p.shape, generator=generator, dtype=torch.double).requires_grad_()
        for name, p in model.parameters(SHAPE).items()
    }


def plain(weights, tokens):
    """nn.LSTM with our weights; its gates come in the order i, f, g, o."""
    lstm = nn.LSTM(3, 5, num_layers=2, batch_first=True, dtype=torch.double)
    theirs = dict(lstm.named_parameters())
    for layer in (1, 2):
        for ours, name in ((f"W_x{layer}", "weight_ih"), (f"W_h{layer}", "weight_hh"), (f"b_{layer}", "bias_ih")):
            i, f, o, g = weights[ours].detach().chunk(4, dim=-1)
            reordered = torch.cat([i, f, g, o], -1)
            theirs[f"{name}_l{layer - 1}"].data = reordered.T.contiguous() if reordered.ndim == 2 else reordered
        theirs[f"bias_hh_l{layer - 1}"].data.zero_()
    states, _ = lstm(weights["W_E"][tokens])
    return states[:, -1] @ weights["W_U"], theirs


def test_equals_a_plain_lstm():
    weights = drawn()
    tokens = torch.randint(SHAPE.vocabulary, (6, 7), generator=stream(0, "tokens"))
    ours = MODEL.forward(weights, plan(tokens, SHAPE.vocabulary, 7)).logits
    logits, theirs = plain(weights, tokens)
    torch.testing.assert_close(ours, logits)
    (by_ours,) = torch.autograd.grad(ours.square().sum(), weights["W_h1"])
    (by_theirs,) = torch.autograd.grad(logits.square().sum(), theirs["weight_hh_l0"])
    i, f, g, o = by_theirs.T.chunk(4, dim=-1)
    torch.testing.assert_close(by_ours, torch.cat([i, f, o, g], -1))


@pytest.mark.parametrize("places", [[0, 1], [3], [1, 4], [6]], ids=str)
def test_padding_leaves_the_state_as_it_is(places):
    weights = drawn()
    tokens = torch.randint(1, SHAPE.vocabulary, (6, 7), generator=stream(0, "tokens"))
    kept = [place for place in range(7) if place not in places]
    tokens[:, places] = 0
    model = LSTM(d=3, hidden=5, padding=0)
    ours = model.forward(weights, plan(tokens, SHAPE.vocabulary, 7)).logits
    torch.testing.assert_close(ours, plain(weights, tokens[:, kept])[0])
    assert not torch.allclose(ours, MODEL.forward(weights, plan(tokens, SHAPE.vocabulary, 7)).logits)


@pytest.mark.parametrize("settings", [{"d": 0}, {"hidden": 0}, {"kappa": 0.0}])
def test_impossible_settings(settings):
    with pytest.raises(ConfigError) as error:
        LSTM(**settings).check()
    assert error.value.field == next(iter(settings))


@pytest.mark.parametrize("padding", [None, 0])
def test_what_blocks_share_equals_the_whole_batch(padding):
    """Blocks that are smaller than the vocabulary read the table that pays off for all examples."""
    model, weights = LSTM(d=3, hidden=5, padding=padding), drawn()
    examples, half = 2 * SHAPE.vocabulary, SHAPE.vocabulary - 1
    tokens = torch.randint(SHAPE.vocabulary, (examples, 4), generator=stream(0, "tokens"))
    first = plan(tokens[:half], SHAPE.vocabulary, 4)
    shared = model.shared(weights, first, examples)
    assert len(shared) == (2 if padding is None else 1)
    blocks = [first, plan(tokens[half:], SHAPE.vocabulary, 4)]
    logits = torch.cat([model.forward(weights | shared, block).logits for block in blocks])
    whole = model.forward(weights, plan(tokens, SHAPE.vocabulary, 4)).logits
    torch.testing.assert_close(logits, whole)
    each = [torch.autograd.grad(out.square().sum(), list(weights.values())) for out in (logits, whole)]
    for own, other in zip(*each, strict=True):
        torch.testing.assert_close(own, other)
