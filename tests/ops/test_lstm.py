"""Two LSTM layers as one operation, against the same in operations of autograd."""

import pytest
import torch
from torch.func import vmap

from grokscope.ops.lookup import plan
from grokscope.ops.lstm import _by_position, last_state, plain_last_state
from grokscope.randomness import stream

TOKENS, HIDDEN = 7, 3
FEW, MANY = 6, 9
"""Examples, fewer and more than tokens: what a first token leaves behind is a table where there are more."""


def drawn(seed=0, dtype=torch.double):
    shapes = (TOKENS, 4 * HIDDEN), (HIDDEN, 4 * HIDDEN), (2 * HIDDEN, 4 * HIDDEN), (4 * HIDDEN,)
    generator = stream(seed, "weights")
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def sequences(length, seed=0, examples=FEW):
    return torch.randint(TOKENS, (examples, length), generator=stream(seed, "tokens"))


def planned(tokens):
    return plan(tokens, TOKENS, tokens.shape[-1]).by_token(TOKENS)


def gradients(state, weights):
    factor = torch.randn(state.shape, generator=stream(0, "factor"), dtype=state.dtype)
    return torch.autograd.grad((state * factor).sum(), weights)


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("examples", [FEW, MANY])
def test_state_and_gradients(length, padded, examples):
    weights, tokens = drawn(), sequences(length, examples=examples)
    moves = tokens > 1 if padded else None
    stays = None if moves is None else ~moves.T.unsqueeze(-1)
    ours = last_state(weights[0], planned(tokens), *weights[1:], moves)
    expected = plain_last_state(*weights, None, stays, _by_position(planned(tokens)))
    torch.testing.assert_close(ours, expected)
    for found, wanted in zip(gradients(ours, weights), gradients(expected, weights), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("examples", [FEW, MANY])
def test_stacked_runs_are_those_alone(padded, examples):
    runs = [drawn(seed) for seed in range(3)]
    tokens = torch.stack([sequences(4, seed, examples) for seed in range(3)])
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


@pytest.mark.parametrize("examples", [2, MANY])
def test_second_derivatives(examples):
    tokens = sequences(3, examples=examples)
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


KERNELS = """
import torch
from grokscope.ops import lstm
from grokscope.ops.triton import lstm as kernels
place = "cuda" if torch.cuda.is_available() else "cpu"
close = lambda a, b: torch.testing.assert_close(a.cpu(), b.cpu(), rtol=1e-5, atol=1e-5)
torch.manual_seed(0)
for runs, examples, hidden in (((), 3, 5), ((2,), 7, 33), ((3,), 40, 64)):
    for padded in (False, True):
        gates = torch.randn(*runs, 2, examples, 4 * hidden).select(-3, 1)
        c, new_c, squashed, to_c = torch.randn(4, *runs, examples, hidden)
        read, to_read = torch.randn(2, *runs, examples, 2 * hidden)
        h, new_h, to_h = read[..., :hidden], read[..., hidden:], to_read[..., hidden:]
        stays = torch.rand(*runs, examples, 1) < 0.5 if padded else None
        tensors = gates, c, new_c, squashed, h, new_h, stays
        own = [None if t is None else t.to(place, copy=True) for t in tensors]
        lstm._activate(*(None if t is None else t.cpu() for t in tensors))
        kernels.activate(*own)
        for ours, wanted in zip(own[:-1], tensors):
            close(ours, wanted)
        before = kernels.cell_backward(own[0], own[1], own[3], to_h.to(place), to_c.to(place), own[-1])
        close(before, lstm._cell_backward(gates, c, squashed, to_h, to_c, stays, torch.empty_like(gates)))
        close(own[0], gates)
print("same")
"""


def test_gpu_kernels_compute_the_same(say_same):
    say_same(KERNELS)
