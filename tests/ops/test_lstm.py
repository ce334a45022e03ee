"""Two LSTM layers as one operation, against the same in operations of autograd."""

import pytest
import torch
from torch.func import vmap

from grokscope.ops.lookup import plan
from grokscope.ops.lstm import _by_position, last_state, plain_last_state
from grokscope.randomness import stream

TOKENS, HIDDEN, EXAMPLES = 7, 5, 6


def drawn(seed=0, dtype=torch.double):
    shapes = (TOKENS, 4 * HIDDEN), (HIDDEN, 4 * HIDDEN), (2 * HIDDEN, 4 * HIDDEN), (4 * HIDDEN,)
    generator = stream(seed, "weights")
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def sequences(length, seed=0):
    return torch.randint(TOKENS, (EXAMPLES, length), generator=stream(seed, "tokens"))


def planned(tokens):
    return plan(tokens, TOKENS, tokens.shape[-1]).by_token(TOKENS)


def gradients(state, weights):
    factor = torch.randn(state.shape, generator=stream(0, "factor"), dtype=state.dtype)
    return torch.autograd.grad((state * factor).sum(), weights)


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("padded", [False, True])
def test_state_and_gradients(length, padded):
    weights, tokens = drawn(), sequences(length)
    moves = tokens > 1 if padded else None
    stays = None if moves is None else ~moves.T.unsqueeze(-1)
    ours = last_state(weights[0], planned(tokens), *weights[1:], moves)
    expected = plain_last_state(*weights, stays, _by_position(planned(tokens)))
    torch.testing.assert_close(ours, expected)
    for found, wanted in zip(gradients(ours, weights), gradients(expected, weights), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("padded", [False, True])
def test_stacked_runs_are_those_alone(padded):
    runs = [drawn(seed) for seed in range(3)]
    tokens = torch.stack([sequences(4, seed) for seed in range(3)])
    stacked = [torch.stack(own).detach().requires_grad_() for own in zip(*runs, strict=True)]

    def state(sequences, table, *rest):
        own = sequences.by_token(TOKENS)
        return last_state(table, own, *rest, own.row > 1 if padded else None)

    together = vmap(state)(plan(tokens, TOKENS, 4), *stacked)
    by_weight = torch.autograd.grad(together.square().sum(), stacked)
    for run, weights in enumerate(runs):
        alone = state(plan(tokens[run], TOKENS, 4), *weights)
        torch.testing.assert_close(together[run], alone)
        for found, wanted in zip(by_weight, torch.autograd.grad(alone.square().sum(), weights), strict=True):
            torch.testing.assert_close(found[run], wanted)


def test_second_derivatives():
    tokens = sequences(3)
    assert torch.autograd.gradgradcheck(lambda *w: last_state(w[0], planned(tokens), *w[1:]), drawn())


def test_the_graph_is_used_once():
    """Gates are overwritten by their gradients: autograd refuses to read them again."""
    weights = drawn()
    state = last_state(weights[0], planned(sequences(3)), *weights[1:])
    gradients(state, weights)
    with pytest.raises(RuntimeError):
        gradients(state, weights)


def test_products_in_bf16_are_close():
    weights = drawn(dtype=torch.float32)
    found = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            state = last_state(weights[0], planned(sequences(4)), *weights[1:])
        assert state.dtype == torch.float32
        found.append([state, *gradients(state, weights)])
    for exact, rounded in zip(*found, strict=True):
        assert not torch.equal(exact, rounded)
        torch.testing.assert_close(rounded, exact, rtol=0.1, atol=0.1)
