"""Planned look-ups against plain indexing: values and gradients, one run and many; the Triton kernels, under its interpreter where
there is no GPU."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap

from grokscope.ops.lookup import lookup, plan, pool, read_sums


def problem(examples, length, vocabulary, positions, width, seed=0, lanes=()):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, vocabulary, (*lanes, examples, length), generator=generator)
    table = torch.randn(*lanes, vocabulary * positions, width, generator=generator).requires_grad_()
    weight = torch.rand(*lanes, examples, length, generator=generator).requires_grad_()
    return plan(tokens, vocabulary, positions), table, weight


@given(
    st.integers(1, 9), st.integers(1, 4), st.integers(1, 5), st.integers(0, 2), st.integers(1, 6), st.integers(0, 99)
)
def test_values_and_gradients_are_those_of_indexing(examples, length, vocabulary, more, width, seed):
    p, table, weight = problem(examples, length, vocabulary, length + more, width, seed)
    torch.testing.assert_close(lookup(table, p), table[p.row])
    by_hand = (weight[..., None] * table[p.row]).sum(1)
    torch.testing.assert_close(pool(table, weight, p), by_hand)
    up = torch.randn(examples, width)
    for ours, plain in ((pool(table, weight, p), by_hand),):
        got = torch.autograd.grad((ours * up).sum(), (table, weight))
        want = torch.autograd.grad((plain * up).sum(), (table, weight))
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b)
    up = torch.randn(examples, length, width)
    (got,) = torch.autograd.grad((lookup(table, p) * up).sum(), table)
    (want,) = torch.autograd.grad((table[p.row] * up).sum(), table)
    torch.testing.assert_close(got, want)


def test_stacked_runs_are_looked_up_each_in_its_own_table():
    p, table, weight = problem(6, 3, 4, 3, 5, lanes=(4,))
    out = vmap(pool)(table, weight, p)
    looked = vmap(lookup)(table, p)
    total = (out.square().sum() + looked.pow(3).sum(),)
    grads = torch.autograd.grad(total, (table, weight))
    for lane in range(4):
        own = type(p)(*(t[lane] for t in p))
        t, w = table[lane].detach().requires_grad_(), weight[lane].detach().requires_grad_()
        torch.testing.assert_close(out[lane], pool(t, w, own))
        alone = torch.autograd.grad(pool(t, w, own).square().sum() + lookup(t, own).pow(3).sum(), (t, w))
        for a, b in zip(grads, alone, strict=True):
            torch.testing.assert_close(a[lane], b)


def test_read_sums_is_the_transpose_of_lookup():
    p, table, _ = problem(6, 3, 4, 3, 5, lanes=(2,))
    reads = torch.randn(2, 6, 3, 5)
    (wanted,) = torch.autograd.grad((vmap(lookup)(table, p) * reads).sum(), table)
    torch.testing.assert_close(vmap(read_sums)(reads, p), wanted)
    own = type(p)(*(t[1] for t in p))
    torch.testing.assert_close(read_sums(reads[1], own), wanted[1])
    assert torch.equal(own.is_read, wanted[1].abs().sum(-1) > 0)


def test_positions_count_back_from_the_query():
    """A shorter sequence reads the last positions: its query is where the longer one's is."""
    tokens = torch.tensor([[0, 1, 2]])
    assert plan(tokens, 3, 3).row.tolist() == [[0, 4, 8]]
    assert plan(tokens, 3, 5).row.tolist() == [[2, 8, 14]]


KERNELS = """
import os, torch
from grokscope.ops.triton import lookup as kernels
from grokscope.ops import lookup as plain
torch.manual_seed(0)
place = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"
def on(kernel, *inputs):
    return kernel(*(i.to(place) if isinstance(i, torch.Tensor) else i for i in inputs))
def close(a, b):
    torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-5)
kernels.LONG = 1  # so that some rows are long
kernels.WIDEST = 3  # so that 16 columns, and 4 of a head, are added up in parts
sizes = ((2, 20, 4, 5, 5), (3, 33, 1, 2, 1), (1, 3, 5, 4, 16), (2, 330, 2, 3, 16), (1, 7, 33, 32, 1))  # the last: many rows
for runs, examples, length, vocabulary, width in sizes:
    p = plain.plan(torch.randint(0, vocabulary, (runs, examples, length)), vocabulary, length)
    table, weight = torch.randn(runs, vocabulary * length, width), torch.rand(runs, examples, length)
    grad, reads = torch.randn(runs, examples, width), torch.randn(runs, examples * length, width)
    token, position = torch.randn(runs, vocabulary, width), torch.randn(runs, length, width)
    found = (
        on(kernels.gather, table, p.row),
        on(kernels.pool_forward, table, weight, p.row),
        on(kernels.pool_weight_backward, grad, table, p.row),
        on(kernels.row_sums, grad, p.order, p.starts, weight, length),
        on(kernels.row_sums, reads, p.order, p.starts, None, 1),
        on(kernels.distances, table, grad, p.row),
        on(kernels.added, token, position, torch.float32),
        *on(kernels.added_backward, table, vocabulary),
    )
    for i in range(runs):
        own, t, w, g = plain.Plan(*(part[i] for part in p)), table[i], weight[i], grad[i]
        wanted = (
            t[own.row],
            plain._pool_forward(t, w, own.row),
            plain._pool_weight_backward(g, t, own.row),
            plain._row_sums(g, own, w, length),
            plain._row_sums(reads[i], own, None, 1),
            (t[own.row] - g[:, None]).norm(dim=-1),
            (token[i][:, None] + position[i]).flatten(0, 1),
            t.view(vocabulary, length, width).sum(1),
            t.view(vocabulary, length, width).sum(0),
        )
        for ours, by_hand in zip(found, wanted, strict=True):
            close(ours[i], by_hand)
    if width == 16:  # four heads, each with weights of its own
        each = torch.rand(runs, examples, 4, length)
        heads = (
            on(kernels.pool_forward, table, each, p.row),
            on(kernels.pool_weight_backward, grad, table, p.row, 4),
            on(kernels.row_sums, grad, p.order, p.starts, each, length),
        )
        for i in range(runs):
            own, t, w = plain.Plan(*(part[i] for part in p)), table[i].requires_grad_(), each[i].requires_grad_()
            wanted = plain.pool_heads(t, w, own)
            close(heads[0][i], wanted.detach())
            slopes = torch.autograd.grad((wanted * grad[i]).sum(), (w, t))
            close(heads[1][i], slopes[0]), close(heads[2][i], slopes[1])
            table = table.detach()
    alone = plain.Plan(*(part[0] for part in p))
    close(on(kernels.pool_forward, table[0], weight[0], alone.row), found[1][0].cpu())
    close(on(kernels.row_sums, grad[0], alone.order, alone.starts, weight[0], length), found[3][0].cpu())
print("same")
"""


def test_triton_kernels_compute_the_same(say_same):
    say_same(KERNELS)


def test_by_token_reads_one_row_a_token():
    """Of a table over tokens alone; its gradient counts how often each token was read."""
    tokens = torch.tensor([[2, 0, 2], [1, 2, 0]])
    table = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    reads = plan(tokens, 4, 5).by_token(4)
    looked_up = lookup(table, reads)
    assert torch.equal(looked_up, table[tokens])
    looked_up.sum().backward()
    assert table.grad[:, 0].tolist() == [2, 1, 3, 0]
