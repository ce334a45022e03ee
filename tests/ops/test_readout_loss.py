"""The fused readout loss compared with plain autograd in float64: the loss and its five gradients, one run and many."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap

from grokscope.ops import readout_loss
from grokscope.ops.lookup import Plan, plan
from grokscope.ops.normalise import Normalise
from grokscope.ops.readout_eval import evaluate_readout
from grokscope.ops.readout_loss import loss_and_gradients, mean_cross_entropy
from grokscope.ops.team import team_of

NAMES = ("values", "attention", "W_in", "W_out", "W_U")


def problem(lanes=(), examples=37, length=5, vocabulary=6, d=7, hidden=11, classes=5, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*lanes, *shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    tokens = torch.randint(0, vocabulary, (*lanes, examples, length), generator=generator)
    labels = torch.randint(0, classes, (*lanes, examples), generator=generator)
    tensors = [draw(vocabulary * length, d), draw(examples, length), draw(d, hidden), draw(hidden, d), draw(d, classes)]
    return tensors, plan(tokens, vocabulary, length), labels


def by_hand(tensors, reads, labels, scale):
    """One run in plain operations."""
    values, attention, W_in, W_out, W_U = tensors
    x = (attention[..., None] * values[reads.row]).sum(1)
    return F.cross_entropy(scale * (x + torch.relu(x @ W_in) @ W_out) @ W_U, labels)


def own(stacked, lane):
    return [t[lane].detach().requires_grad_() for t in stacked]


def assert_as_by_hand(tensors, reads, labels, scale=1.0, **close):
    values, attention, *weights = tensors
    loss = mean_cross_entropy(values, attention, reads, *weights, labels, scale)
    exact = [t.detach().double().requires_grad_() for t in tensors]
    wanted = by_hand(exact, reads, labels, scale)
    torch.testing.assert_close(loss.double(), wanted, **close)
    got = torch.autograd.grad(loss, tensors)
    for name, a, b in zip(NAMES, got, torch.autograd.grad(wanted, exact), strict=True):
        torch.testing.assert_close(a.double(), b, msg=lambda m, name=name: f"{name}: {m}", **close)


@pytest.mark.parametrize("length", range(1, 9))
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_loss_and_gradients_are_those_of_plain_operations(length, scale):
    assert_as_by_hand(*problem(length=length, seed=length), scale)


@given(
    st.integers(1, 20), st.integers(1, 4), st.integers(1, 5), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9),
    st.floats(0.1, 4.0), st.integers(0, 99),
)  # fmt: skip
def test_at_any_size(examples, length, vocabulary, d, hidden, classes, scale, seed):
    assert_as_by_hand(*problem((), examples, length, vocabulary, d, hidden, classes, seed), scale)


@pytest.fixture(params=["at once", "in blocks", "in blocks by a team"])
def way(request, monkeypatch):
    """All ways through the examples; blocks of at most 9, so that the last one is shorter."""
    if "blocks" in request.param:
        monkeypatch.setattr(readout_loss, "_BLOCK", 9)
    with team_of(3 if "team" in request.param else 1):
        yield


@pytest.mark.parametrize("given", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("kind", ["layer", None])
def test_biases_of_the_hidden_layer_and_of_the_logits(way, given, kind):
    """Loss, gradients and evaluation of three runs against plain operations, with either bias or both."""
    norm = None if kind is None else Normalise(kind, 1e-5)
    tensors, reads, labels = problem((3,))
    drawn = [torch.randn(3, size, dtype=torch.float64, requires_grad=True) for size in (11, 5)]
    b_in, b_logits = (bias if there else None for bias, there in zip(drawn, given, strict=True))
    leaves = [*tensors, *(bias for bias in (b_in, b_logits) if bias is not None)]
    values, attention, W_in, W_out, W_U = tensors
    x = torch.stack([(attention[i, ..., None] * values[i][reads.row[i]]).sum(1) for i in range(3)])
    read = (x if norm is None else norm.plain(x)[0]) @ W_in
    hidden = torch.relu(read if b_in is None else read + b_in[:, None])
    logits = (x + hidden @ W_out) @ W_U
    logits = 1.5 * (logits if b_logits is None else logits + b_logits[:, None])
    each = F.cross_entropy(logits.mT, labels, reduction="none")
    factors = torch.tensor([1.0, -2.0, 3.0])
    wanted = torch.autograd.grad((factors * each.mean(1)).sum(), leaves, retain_graph=True)

    def of(rule):
        return vmap(lambda v, a, p, i, o, u, y, *b: rule(v, a, p, i, o, u, y, 1.5, norm, *b), (0,) * 7 + axes)(
            values, attention, reads, W_in, W_out, W_U, labels, b_in, b_logits
        )

    axes = tuple(0 if there else None for there in given)
    loss = of(mean_cross_entropy)
    torch.testing.assert_close(loss, each.mean(1))
    for a, b in zip(torch.autograd.grad((factors * loss).sum(), leaves), wanted, strict=True):
        torch.testing.assert_close(a, b)
    with torch.no_grad():
        torch.testing.assert_close(of(mean_cross_entropy), each.mean(1))
    losses, correct = of(evaluate_readout)
    torch.testing.assert_close(losses, each)
    assert torch.equal(correct, (logits.argmax(-1) == labels).to(correct))


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_in_blocks_and_at_once(way, scale):
    assert_as_by_hand(*problem(), scale)


def test_in_float32(way):
    assert_as_by_hand(*problem(dtype=torch.float32), rtol=1e-4, atol=1e-5)


def test_stacked_runs_are_single_runs(way):
    tensors, reads, labels = problem((3,))
    values, attention, *weights = tensors
    losses = vmap(mean_cross_entropy)(values, attention, reads, *weights, labels)
    got = torch.autograd.grad((torch.tensor([1.0, -2.0, 3.0]) * losses).sum(), tensors)
    for lane, factor in enumerate((1.0, -2.0, 3.0)):
        alone = own(tensors, lane)
        wanted = by_hand(alone, Plan(*(t[lane] for t in reads)), labels[lane], 1.0)
        torch.testing.assert_close(losses[lane], wanted)
        for a, b in zip(got, torch.autograd.grad(factor * wanted, alone), strict=True):
            torch.testing.assert_close(a[lane], b)


def test_what_all_runs_share_is_stacked(way):
    """The same data and W_U for every run: the gradient of what is shared is the sum."""
    (values, attention, W_in, W_out, W_U), reads, labels = problem((2,))
    shared, data, answers = own([W_U], 0)[0], Plan(*(t[0] for t in reads)), labels[0]
    dims = (0, 0, None, 0, 0, None, None)
    losses = vmap(mean_cross_entropy, dims)(values, attention, data, W_in, W_out, shared, answers)
    (got,) = torch.autograd.grad(losses.sum(), shared)
    wanted = 0
    for lane in range(2):
        alone = own((values, attention, W_in, W_out), lane)
        wanted = wanted + torch.autograd.grad(by_hand([*alone, shared], data, answers, 1.0), shared)[0]
    torch.testing.assert_close(got, wanted)


def test_gradients_are_scaled_by_what_arrives():
    tensors, reads, labels = problem()
    values, attention, *weights = tensors
    loss = mean_cross_entropy(values, attention, reads, *weights, labels)
    once = torch.autograd.grad(loss, tensors, retain_graph=True)
    for a, b in zip(torch.autograd.grad(3 * loss, tensors), once, strict=True):
        torch.testing.assert_close(a, 3 * b)


def test_some_inputs_may_be_constants():
    (values, attention, *weights), reads, labels = problem()
    wanted = torch.autograd.grad(by_hand([values, attention, *weights], reads, labels, 1.0), weights[0])
    weights = [weights[0], *(w.detach() for w in weights[1:])]
    loss = mean_cross_entropy(values.detach(), attention.detach(), reads, *weights, labels)
    torch.testing.assert_close(torch.autograd.grad(loss, weights[0]), wanted)


@pytest.mark.parametrize("lanes", [(), (2,)])
def test_without_gradients_only_the_loss_is_computed(lanes, monkeypatch):
    (values, attention, *weights), reads, labels = problem(lanes)
    of = vmap(mean_cross_entropy) if lanes else mean_cross_entropy
    wanted = of(values, attention, reads, *weights, labels).detach()
    monkeypatch.setattr(readout_loss, "loss_and_gradients", None)
    with torch.no_grad():
        torch.testing.assert_close(of(values, attention, reads, *weights, labels), wanted)
    constants = [t.detach() for t in (values, attention, *weights)]
    loss = of(*constants[:2], reads, *constants[2:], labels)
    assert not loss.requires_grad
    torch.testing.assert_close(loss, wanted)


def test_a_lanes_bits_depend_on_no_other_lane(way):
    tensors, reads, labels = problem((5,), dtype=torch.float32, examples=300, hidden=40)
    values, attention, *weights = [t.detach() for t in tensors]
    every = loss_and_gradients(values, attention, reads, *weights, labels, 1.5)
    again = loss_and_gradients(values, attention, reads, *weights, labels, 1.5)
    chosen = torch.tensor([4, 1])
    few = loss_and_gradients(
        values[chosen], attention[chosen], Plan(*(t[chosen] for t in reads)), *(w[chosen] for w in weights),
        labels[chosen], 1.5,
    )  # fmt: skip
    for a, b, c in zip(every, again, few, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a[chosen], c)


def test_nan_stays_in_its_lane(way):
    tensors, reads, labels = problem((3,))
    values, attention, *weights = [t.detach() for t in tensors]
    clean = loss_and_gradients(values, attention, reads, *weights, labels, 1.0)
    weights[1][1, 0, 0] = torch.nan
    for before, after in zip(clean, loss_and_gradients(values, attention, reads, *weights, labels, 1.0), strict=True):
        assert torch.equal(before[[0, 2]], after[[0, 2]])
        assert after[1].isnan().any()


def test_a_very_wrong_answer_has_a_finite_loss():
    """Its probability is 0 in float32, its logarithm is not."""
    values, attention, W_in, W_out = torch.ones(1, 1), torch.ones(2, 1), torch.zeros(1, 1), torch.zeros(1, 1)
    W_U = torch.tensor([[0.0, 400.0]], requires_grad=True)
    reads, labels = plan(torch.zeros(2, 1, dtype=torch.int64), 1, 1), torch.tensor([0, 1])
    loss = mean_cross_entropy(values, attention, reads, W_in, W_out, W_U, labels)
    assert loss.item() == 200
    assert torch.autograd.grad(loss, W_U)[0].tolist() == [[-0.5, 0.5]]


@pytest.mark.parametrize("lanes", [(), (2,)])
def test_a_second_derivative_is_refused(lanes):
    (values, attention, *weights), reads, labels = problem(lanes)
    of = vmap(mean_cross_entropy) if lanes else mean_cross_entropy
    loss = of(values, attention, reads, *weights, labels).sum()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(loss, weights, create_graph=True)
