"""On a CPU an operation gives the same bits wherever its tensors lie in memory, at any place of a stack, by any number of threads.

The promise is that of docs/reproducibility.md, checked on the machine at hand.
"""

from contextlib import contextmanager
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grokscope.ops import readout_eval, readout_loss
from grokscope.ops.adamw import adamw_
from grokscope.ops.lookup import Plan, plan
from grokscope.ops.query_attention import attend
from grokscope.ops.team import team_of

pytestmark = pytest.mark.matrix

mkl_only = pytest.mark.skipif(
    not torch.backends.mkl.is_available(), reason="only MKL can be asked for products that do not depend on alignment"
)
few = settings(max_examples=100)
offsets = st.integers(0, 40)
"""Numbers before a tensor in its buffer: PyTorch aligns the buffer itself to 16 of them."""
threads = st.integers(1, 4)
outside = st.integers(1, 2)
seeds = st.integers(0, 999)


@pytest.fixture(autouse=True, scope="module")
def alone():
    """What is compared is computed by one thread, as by a worker that nobody helps."""
    with a_team(1, outside=1):
        yield


@contextmanager
def a_team(threads, outside):
    """A worker of a team, in a process that has set its own number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(outside)
    try:
        with team_of(threads) as team, team.member():
            yield
    finally:
        torch.set_num_threads(before)


def moved(tensor, offset):
    """The same numbers, `offset` numbers behind the beginning of a buffer."""
    buffer = tensor.new_empty(tensor.numel() + offset)
    return buffer[offset:].view(tensor.shape).copy_(tensor.detach())


def all_equal(some, others):
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


def source(seed):
    generator = torch.Generator().manual_seed(seed)
    return generator, lambda *shape: torch.randn(*shape, generator=generator)


# ── products and sums ────────────────────────────────────────────────────────────────────────────────────────


@mkl_only
@few
@given(st.integers(1, 300), st.integers(1, 130), st.integers(1, 130), st.tuples(offsets, offsets, offsets), seeds)
def test_products(rows, inner, columns, places, seed):
    """As they are (forward), with the first one transposed (gradient of a matrix), with the second one transposed."""
    _, draw = source(seed)
    a, b, c = draw(rows, inner), draw(inner, columns), draw(rows, columns)
    x, y, z = (moved(t, place) for t, place in zip((a, b, c), places, strict=True))
    assert torch.equal(torch.mm(a, b), torch.mm(x, y))
    assert torch.equal(torch.mm(a.mT, c), torch.mm(x.mT, z))
    assert torch.equal(torch.mm(c, b.mT), torch.mm(z, y.mT))
    assert torch.equal(torch.bmm(a[None], b[None])[0], torch.bmm(x[None], y[None])[0])
    torch.mm(x, y, out=z)
    assert torch.equal(z, torch.mm(a, b))
    assert torch.equal(c.clone().addmm_(a, b), moved(c, places[2]).addmm_(x, y))


@few
@given(st.integers(1, 40), st.integers(1, 3000), offsets, seeds)
def test_sums_and_elementwise_functions(rows, width, place, seed):
    _, draw = source(seed)
    a = draw(rows, width)
    x = moved(a, place)
    for of in (torch.sum, torch.norm, torch.exp, torch.log_softmax, torch.mean):
        axis = {"dim": -1} if of in (torch.norm, torch.log_softmax, torch.sum, torch.mean) else {}
        assert torch.equal(of(a, **axis), of(x, **axis)), of
    assert torch.equal(a.sum(0), x.sum(0))
    assert torch.equal(a.sum(), x.sum())


# ── the fused readout ────────────────────────────────────────────────────────────────────────────────────────


def problem(lanes, examples, length, vocabulary, d, hidden, classes, seed):
    generator, draw = source(seed)
    tokens = torch.randint(0, vocabulary, (lanes, examples, length), generator=generator)
    labels = torch.randint(0, classes, (lanes, examples), generator=generator)
    shapes = ((vocabulary * length, d), (examples, length), (d, hidden), (hidden, d), (d, classes))
    return [draw(lanes, *shape) for shape in shapes], plan(tokens, vocabulary, length), labels


problems = st.builds(
    problem,
    st.integers(1, 4),
    st.integers(1, 90),
    st.integers(1, 6),
    st.integers(1, 9),
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(1, 20),
    seeds,
)


def losses(tensors, reads, labels, scale):
    """Loss and gradients of stacked runs, as training computes them."""
    values, attention, *weights = [t.requires_grad_() for t in tensors]
    loss = readout_loss.mean_cross_entropy(values, attention, reads, *weights, labels, scale)
    return [loss.detach(), *torch.autograd.grad(loss.sum(), [values, attention, *weights])]


def evaluations(tensors, reads, labels, scale):
    """Cross-entropy of each answer, correct answers, and the gradient on attention."""
    values, attention, *weights = tensors
    attention = attention.detach().requires_grad_()
    found = [
        readout_eval.evaluate_readout(v, a, Plan(*p), *w, own, scale)
        for v, a, p, w, own in zip(
            values, attention, zip(*reads, strict=True), zip(*weights, strict=True), labels, strict=True
        )
    ]
    loss, correct = (torch.stack(each) for each in zip(*found, strict=True))
    return [loss.detach(), correct, torch.autograd.grad(loss.sum(), attention)[0]]


@pytest.mark.parametrize("of", [losses, evaluations])
@few
@given(problems, st.integers(5, 40), offsets, threads, outside, st.sampled_from([1.0, 0.3]), st.data())
def test_the_readout(of, given, block, place, threads, outside, scale, data):
    """A run alone, the same run at any place of a stack, and the same at any place in memory with any number of threads."""
    tensors, reads, labels = given
    with mock.patch.object(readout_loss, "_BLOCK", block), mock.patch.object(readout_eval, "_BLOCK", block):
        together = of([t.clone() for t in tensors], reads, labels, scale)
        lane = data.draw(st.integers(0, len(labels) - 1))
        one = slice(lane, lane + 1)
        alone = of([t[one].clone() for t in tensors], Plan(*(t[one].clone() for t in reads)), labels[one], scale)
        assert all_equal(alone, (t[one] for t in together))
        if not torch.backends.mkl.is_available():
            place = 0
        with a_team(threads, outside):
            elsewhere = [moved(t[one], place + number) for number, t in enumerate(tensors)]
            assert all_equal(of(elsewhere, Plan(*(t[one] for t in reads)), labels[one], scale), alone)


@pytest.mark.parametrize("of", [losses, evaluations])
def test_the_readout_in_blocks_of_full_size(of):
    tensors, reads, labels = problem(1, 2500, 3, 7, 16, 24, 11, seed=0)
    alone = of([t.clone() for t in tensors], reads, labels, 1.0)
    for threads in (2, 3, 4):
        with a_team(threads, outside=2):
            assert all_equal(of([t.clone() for t in tensors], reads, labels, 1.0), alone)


# ── attention and AdamW ──────────────────────────────────────────────────────────────────────────────────────


def attended(weights, reads):
    """What the query sees, and the gradient of some function of all of it."""
    weights = {name: w.requires_grad_() for name, w in weights.items()}
    seen = attend(weights, reads)
    total = sum((tensor * tensor.detach().cos()).sum() for tensor in seen)
    return [*(t.detach() for t in seen), *torch.autograd.grad(total, list(weights.values()))]


@mkl_only
@few
@given(st.integers(1, 60), st.integers(1, 6), st.integers(1, 60), st.integers(1, 40), offsets, threads, outside, seeds)
def test_attention_by_hand(tokens, length, d, examples, place, threads, outside, seed):
    generator, draw = source(seed)
    shapes = {"W_E": (tokens, d), "W_pos": (length, d), "W_Q": (d, d), "W_K": (d, d), "W_V": (d, d)}
    weights = {name: draw(*shape) for name, shape in shapes.items()}
    reads = plan(torch.randint(0, tokens, (examples, length), generator=generator), tokens, length)
    alone = attended({name: w.clone() for name, w in weights.items()}, reads)
    with a_team(threads, outside):
        elsewhere = {name: moved(w, place + number) for number, (name, w) in enumerate(weights.items())}
        assert all_equal(attended(elsewhere, reads), alone)


@few
@given(st.integers(1, 40), st.integers(1, 300), offsets, seeds, st.data())
def test_adamw_at_any_place_of_a_stack(lanes, weights, place, seed, data):
    generator, draw = source(seed)
    tensors = [draw(lanes, weights), draw(lanes, weights), draw(lanes, weights), draw(lanes, weights).square()]
    before = torch.randint(0, 20_000, (lanes,), generator=generator)
    lr, clip, decay, beta1, beta2 = torch.rand(5, lanes, generator=generator)
    norm = tensors[1].norm(dim=1)
    own = {
        "clip": clip,
        "weight_decay": decay,
        "beta1": beta1,
        "beta2": 0.9 + 0.1 * beta2,
        "eps": torch.full((lanes,), 1e-8),
    }
    together = [moved(t, place) for t in tensors]
    adamw_(*together, before, lr, norm, **own)
    lane = data.draw(st.integers(0, lanes - 1))
    one = slice(lane, lane + 1)
    alone = [t[one].clone() for t in tensors]
    adamw_(*alone, before[one], lr[one], norm[one], **{name: number[one] for name, number in own.items()})
    for number, name in {0: "weight", 2: "mean", 3: "square"}.items():  # the gradient is used up
        assert torch.equal(alone[number][0], together[number][lane]), name
