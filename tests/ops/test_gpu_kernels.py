"""GPU kernels against plain operations: under the interpreter where there is no GPU."""

import pytest
import torch

KERNELS = """
import os, torch
from grokscope.ops import by_token, normal_rows, pool_added, query_attention, query_attention_batched, readout_batched
from grokscope.ops import scaled_norm, softmax
from grokscope.ops.triton import scaled_norm as scaled_kernels
from grokscope.ops.normalise import Normalise
from grokscope.ops.triton import adamw, errors, lookup, normalise, normed_products, parts, products, readout
from grokscope.ops.readout_loss import mean_cross_entropy
from grokscope.ops.readout_eval import evaluate_readout
from grokscope.ops.clipping import clip_scale
from grokscope.ops.lookup import Plan, added, plan, pool, pool_heads
from grokscope.optim.adamw import AdamW
from torch.func import vmap
torch.manual_seed(0)
place, loose = ("cpu", 1e-5) if os.environ.get("TRITON_INTERPRET") else ("cuda", 1e-2)  # of TF32
def close(a, b):
    assert (a.cpu() - b).norm() <= loose * b.norm()
for runs, examples, length, tokens, d, hidden, classes, scale in ((2, 70, 3, 3, 16, 40, 11, 1.0), (1, 9, 1, 4, 16, 130, 3, 2.0)):
    p = plan(torch.randint(0, tokens, (runs, examples, length)), tokens, length)
    sizes = ((tokens * length, d), (examples, length), (d, hidden), (hidden, d), (d, classes))
    leaves = [(torch.rand(runs, *size) - 0.3).requires_grad_() for size in sizes]
    labels = torch.randint(0, classes, (runs, examples))
    def of_one(rule):
        return vmap(lambda v, a, i, o, u, l, *p: rule(v, a, Plan(*p), i, o, u, l, scale))
    loss = of_one(mean_cross_entropy)(*leaves, labels, *p)
    wanted = (loss, *torch.autograd.grad(loss.sum(), leaves))
    own, q, right_ones = [leaf.detach().to(place) for leaf in leaves], Plan(*(t.to(place) for t in p)), labels.to(place)
    for few in (0, 32):  # the programs of many runs, and of few
        readout.FEW = few
        x = lookup.pool_forward(own[0], own[1], q.row)
        loss, to_x, *rest = readout.stream_loss(x, *own[2:], right_ones, scale)
        to_values = lookup.row_sums(to_x, q.order, q.starts, own[1], length)
        found = (loss, to_values, lookup.pool_weight_backward(to_x, own[0], q.row), *rest)
        for a, b in zip(found, wanted, strict=True):
            close(a, b)
    still = [leaf.detach() for leaf in leaves]
    still[1].requires_grad_()
    each, correct = of_one(evaluate_readout)(*still, labels, *p)
    (slope,) = torch.autograd.grad(each.sum(), still[1])
    *answers, to_x = readout.evaluate_stream(x, *own[2:], right_ones, scale, True)
    for a, b in zip((*answers, lookup.pool_weight_backward(to_x, own[0], q.row)), (each, correct, slope), strict=True):
        close(a, b)
    pooled = x
    for kind in ("layer", "rms"):
        norm = Normalise(kind, 1e-5)
        x = (torch.rand(runs, examples, d) - 0.3).requires_grad_()
        z, slope = norm(x.detach())
        assert z.is_contiguous()
        wanted = norm(x)[0]
        push = torch.rand(runs, examples, d)
        (to_x,) = torch.autograd.grad(wanted, x, push)
        close(norm.backward(push, z, slope), to_x)
        close(norm.backward(push, z, slope, onto=push.clone()), push + to_x)
        fast_z, fast_slope = normalise.normalise(x.detach().to(place), kind == "layer", 1e-5)
        close(fast_z, wanted.detach()), close(fast_slope, slope)
        close(normalise.normalise_backward(push.to(place), fast_z, fast_slope, kind == "layer"), to_x)
        onto = push.clone().to(place)
        assert normalise.normalise_backward(push.to(place), fast_z, fast_slope, kind == "layer", onto) is onto
        close(onto, push + to_x)
        W, plus = torch.rand(runs, hidden, d) - 0.5, torch.rand(runs, hidden) - 0.5
        for own_plus in (None, plus):
            z, slope = norm.plain(x.detach())
            wanted = torch.relu(z @ W.mT + (0 if own_plus is None else own_plus[:, None]))
            given = None if own_plus is None else own_plus.to(place)
            found = normed_products.normed_relu_product(x.detach().to(place), W.to(place), kind == "layer", 1e-5, given)
            for a, b in zip(found, (z, slope, wanted), strict=True):
                close(a, b)
        to_hidden, onto = torch.rand(runs, examples, hidden) - 0.5, torch.rand(runs, examples, d)
        (to_x,) = torch.autograd.grad(norm.plain(x)[0], x, to_hidden @ W)
        held = onto.clone().to(place)
        how = (to_hidden.to(place), W.mT.to(place), *found[:2], kind == "layer", held)
        assert normed_products.normed_product_backward(*how) is held
        close(held, onto + to_x)
        if place == "cuda":
            rule = lambda v, a, i, o, u, l, *p: mean_cross_entropy(v, a, Plan(*p), i, o, u, l, scale, norm)
            loss = vmap(rule)(*leaves, labels, *p)
            wanted = (loss, *torch.autograd.grad(loss.sum(), leaves))
            loss, to_x, *rest = readout_batched.stream_loss(pooled.clone(), *own[2:], right_ones, scale, norm)
            to_values = lookup.row_sums(to_x, q.order, q.starts, own[1], length)
            found = (loss, to_values, lookup.pool_weight_backward(to_x, own[0], q.row), *rest)
            for a, b in zip(found, wanted, strict=True):
                close(a, b)
    a, b = torch.rand(runs, examples, d) - 0.5, torch.rand(runs, hidden, d) - 0.5
    hidden_units = torch.relu(a @ b.mT)
    close(products.relu_product(a.to(place), b.to(place)), hidden_units)
    apart = torch.nn.functional.pad(b.mT.flatten(1), (16, 16)).to(place)[:, 16:-16].view(b.mT.shape)
    close(products.relu_product(a.to(place), apart.mT), hidden_units)
    own_rule, products._read_there = products._read_there, lambda b: True  # across, as bf16
    close(products.relu_product(a.to(place), apart.mT), hidden_units)
    products._read_there = own_rule
    if place == "cuda":
        wide, half = (torch.rand(runs, d, 48) - 0.5).bfloat16(), a.bfloat16()
        found = products.relu_product(half.to(place), wide.to(place).mT)
        close(found.float(), torch.relu(half.float() @ wide.float()))
    c = torch.rand(runs, examples, d) - 0.5
    masked = (c @ b.mT) * (hidden_units > 0)
    found, none = products.masked_product(c.to(place), b.to(place), hidden_units.to(place))
    close(found, masked)
    assert none is None
    found, sums = products.masked_product(c.to(place), b.to(place), hidden_units.to(place), True)
    close(found, masked), close(sums, masked.sum(1))
    plus = torch.rand(runs, hidden) - 0.5
    close(products.relu_product(a.to(place), b.to(place), plus.to(place)), torch.relu(a @ b.mT + plus[:, None]))
    logits = torch.randn(runs, examples, classes).requires_grad_()
    each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view(labels.shape)
    (slope,) = torch.autograd.grad(0.5 * each.sum(), logits)
    filled = torch.nn.functional.pad(logits.detach(), (0, 5), value=7.0).to(place)
    losses, correct = errors.answer_errors_(filled, right_ones, classes, 0.5, True)
    close(losses, each.detach()), close(correct, (logits.argmax(-1) == labels).float()), close(filled[..., :classes], slope)
    assert not filled[..., classes:].any()
    plus = torch.randn(runs, classes)
    each = torch.nn.functional.cross_entropy((logits + plus[:, None]).mT, labels, reduction="none")
    (slope,) = torch.autograd.grad(0.5 * each.sum(), logits)
    filled = torch.nn.functional.pad(logits.detach(), (0, 5), value=7.0).to(place)
    losses, correct = errors.answer_errors_(filled, right_ones, classes, 0.5, True, plus.to(place))
    close(losses, each.detach()), close(filled[..., :classes], slope)
    close(correct, ((logits + plus[:, None]).argmax(-1) == labels).float())
    assert not filled[..., classes:].any()
readout_batched.usable_on, readout_batched._fuses = (lambda device: True), (lambda x: True)
for kind in ("layer", "rms", None):
    norm, scale = Normalise(kind, 1e-5) if kind else None, 1.5
    sizes = ((150, 16), (16, 40), (40, 16), (16, 11), (40,), (11,))
    # logits of order 1: TF32 rounds large ones by so much that other answers are the largest
    widths = (1, 16, 40, 16, 1, 1)
    leaves = [(torch.randn(2, *size) / width**0.5).requires_grad_() for size, width in zip(sizes, widths)]
    labels = torch.randint(0, 11, (2, 150))
    x, W_in, W_out, W_U, b_in, b_logits = leaves
    hidden = torch.relu((x if norm is None else norm.plain(x)[0]) @ W_in + b_in[:, None])
    logits = scale * ((x + hidden @ W_out) @ W_U + b_logits[:, None])
    each = torch.nn.functional.cross_entropy(logits.mT, labels, reduction="none")
    wanted = each.mean(1), *torch.autograd.grad(each.mean(1).sum(), leaves, retain_graph=True)
    own = [leaf.detach().to(place) for leaf in leaves]
    x, *weights = own
    how = (labels.to(place), scale, norm)
    found = readout_batched.stream_loss(x.clone(), *weights[:3], *how, *weights[3:])
    (to_x,) = torch.autograd.grad(each.sum(), leaves[0])
    looked = readout_batched.evaluate_stream(x.clone(), *weights[:3], *how, True, *weights[3:])
    losses, correct, to_stream = looked
    for a, b in zip((*found, losses, to_stream), (*wanted, each, to_x), strict=True):
        assert (a.cpu() - b).norm() <= 5 * loose * b.norm()  # a few hidden units next to 0 are on the other side of it
    assert (correct.cpu() != (logits.argmax(-1) == labels)).float().mean() <= loose
for runs, tokens, length, examples, d in ((2, 7, 3, 40, 8), (1, 4, 5, 150, 16)):
    p = plan(torch.randint(0, tokens, (runs, examples, length)), tokens, length)
    shapes = ((tokens, d), (length, d), (d, d), (d, d), (d, d))
    leaves = [torch.randn(runs, *shape).requires_grad_() for shape in shapes]
    weights = dict(zip(("W_E", "W_pos", "W_Q", "W_K", "W_V"), leaves))
    wanted = query_attention.attend(weights, p)
    push = [torch.randn_like(t) for t in wanted]
    own, q = [leaf.detach().to(place) for leaf in leaves], Plan(*(t.to(place) for t in p))
    found, kept = query_attention_batched.attend(*own, q)
    for a, b in zip(found, wanted):
        close(a, b.detach())
    for given in ((1, 1, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)):
        given = (*given, 1, 1)  # values are always read
        total = sum((t * p).sum() for t, p, there in zip(wanted, push, given) if there)
        slopes = torch.autograd.grad(total, leaves, retain_graph=True, allow_unused=True, materialize_grads=True)
        to = tuple(p.to(place) if there else None for p, there in zip(push, given))
        for a, b in zip(query_attention_batched.attend_backward(tuple(own), kept, q, found[0], to), slopes):
            assert (a.cpu() - b).norm() <= loose * b.norm() + 1e-6
by_token.usable_on, by_token.LONG = (lambda device: True), 1  # products, however short the sequence
for runs, tokens, places, length, examples, d in ((2, 7, 11, 11, 40, 8), (1, 30, 9, 6, 17, 16)):
    p = plan(torch.randint(0, tokens, (runs, examples, length)), tokens, places)
    shapes = ((tokens, d), (places, d), (examples, length))
    leaves = [torch.randn(runs, *shape).requires_grad_() for shape in shapes]
    wanted = vmap(lambda t, s, w, *p: pool(added(t, s), w, Plan(*p)))(*leaves, *p)
    push = torch.randn_like(wanted)
    slopes = torch.autograd.grad(wanted, leaves, push)
    own = [leaf.detach().to(place).requires_grad_() for leaf in leaves]
    own_plan, weight = Plan(*(t.to(place) for t in p)), own[2].unsqueeze(-2)
    stacked = by_token.pool_apart(*own[:2], weight, own_plan)
    mapped = vmap(lambda t, s, w, *p: by_token.pool_apart(t, s, w, Plan(*p)))(*own[:2], weight, *own_plan)
    alone = [by_token.pool_apart(own[0][i], own[1][i], weight[i], Plan(*(t[i] for t in own_plan))) for i in range(runs)]
    for h in (stacked, mapped, torch.stack(alone)):
        close(h.detach(), wanted.detach())
        for a, b in zip(torch.autograd.grad(h, own, push.to(place)), slopes, strict=True):
            close(a, b)
pool_added.usable_on = lambda device: True
for runs, tokens, places, length, examples, heads, width in ((2, 7, 4, 4, 40, 2, 8), (1, 5, 3, 2, 9, 1, 16)):
    p = plan(torch.randint(0, tokens, (runs, examples, length)), tokens, places)
    shapes = ((tokens, heads * width), (places, heads * width), (examples, heads, length))
    leaves = [torch.randn(runs, *shape).requires_grad_() for shape in shapes]
    of_heads = lambda t, s, w, *p: pool_heads(added(t, s), w, Plan(*p))
    wanted = torch.stack([of_heads(*(t[i] for t in (*leaves, *p))) for i in range(runs)])
    push = torch.randn_like(wanted)
    slopes = torch.autograd.grad(wanted, leaves, push)
    own, q = [leaf.detach().to(place).requires_grad_() for leaf in leaves], Plan(*(t.to(place) for t in p))
    stacked = pool_added.pool_added(*own, q)
    mapped = vmap(lambda t, s, w, *p: pool_added.pool_added(t, s, w, Plan(*p)))(*own, *q)
    for h in (stacked, mapped):
        close(h.detach(), wanted.detach())
        for a, b in zip(torch.autograd.grad(h, own, push.to(place)), slopes, strict=True):
            close(a, b)
for shape in ((2, 9, 3, 5), (4, 1), (3, 2, 1, 33)):
    leaf = torch.randn(shape).requires_grad_()
    wanted = torch.log_softmax(leaf, -1), torch.softmax(leaf, -1)
    push = [torch.randn(shape) for _ in wanted]
    own = leaf.detach().to(place).requires_grad_()
    for found in (softmax.softmax_and_log(own), vmap(softmax.softmax_and_log)(own)):
        for chosen in ((0, 1), (0,), (1,)):
            first = [
                torch.autograd.grad([of[i] for i in chosen], to, [push[i].to(to.device) for i in chosen], create_graph=True)
                for of, to in ((found, own), (wanted, leaf))
            ]
            second = [torch.autograd.grad(g.square().sum(), to, retain_graph=True) for (g,), to in zip(first, (own, leaf))]
            plain = torch.autograd.grad([found[i] for i in chosen], own, [push[i].to(place) for i in chosen], retain_graph=True)
            for (a,), (b,) in (first, second, (plain, first[1])):
                assert (a.cpu() - b).norm() <= loose * b.norm() + 1e-6
for runs, tokens, places, d, kind in ((2, 7, 3, 16, "layer"), (33, 5, 1, 12, "rms"), (1, 21, 9, 24, "layer")):
    norm = Normalise(kind, 1e-5)
    both = torch.randn(runs, tokens + 2 * places, d)
    leaves = [both[:, :tokens].detach().requires_grad_(), both[:, -places:].detach().requires_grad_()]
    wanted = normal_rows.plain_rows(*leaves, norm)
    push = torch.randn_like(wanted)
    slopes = torch.autograd.grad(wanted, leaves, push)
    apart = both.to(place)
    own = [t.detach().requires_grad_() for t in (apart[:, :tokens], apart[:, -places:])]
    stacked = normal_rows.normal_rows(*own, norm)
    mapped = vmap(lambda t, p: normal_rows.normal_rows(t, p, norm))(*own)
    alone = torch.stack([normal_rows.normal_rows(own[0][i], own[1][i], norm) for i in range(runs)])
    for rows in (stacked, mapped, alone):
        close(rows.detach(), wanted.detach())
        for a, b in zip(torch.autograd.grad(rows, own, push.to(place)), slopes, strict=True):
            close(a, b)
    def second(rows, of, push):
        first = torch.autograd.grad(rows, of, push, create_graph=True)
        return torch.autograd.grad(sum(t.square().sum() for t in first), of)
    for a, b in zip(
        second(normal_rows.normal_rows(*own, norm), own, push.to(place)),
        second(normal_rows.plain_rows(*leaves, norm), leaves, push),
        strict=True,
    ):
        close(a, b)
for runs, shape, kind, given in (
    (2, (5, 3, 12), "layer", (1, 1)), (3, (170, 16), "rms", (1, 0)), (2, (4, 24), "layer", (0, 0)), (2, (9, 8), "rms", (0, 1))
):
    norm, d = Normalise(kind, 1e-5), shape[-1]
    leaves = [torch.randn(runs, *size).requires_grad_() for size in (shape, (d,), (d,))]
    axes = (0, *(0 if there else None for there in given))
    chosen = [leaves[0], *(leaf if there else None for leaf, there in zip(leaves[1:], given))]
    used = [leaf for leaf in chosen if leaf is not None]
    def of_runs(rule, tensors):
        return vmap(lambda x, g, b: rule(x, norm, g, b), axes)(*tensors)
    push = torch.randn(runs, *shape)
    def derivatives(of, to, push):
        first = torch.autograd.grad(of, to, push, create_graph=True)
        return *first, *torch.autograd.grad(sum(t.square().sum() for t in first), to, allow_unused=True, materialize_grads=True)
    wanted = of_runs(scaled_norm.plain_norm, chosen)
    slopes = derivatives(wanted, used, push)
    own = [None if leaf is None else leaf.detach().to(place).requires_grad_() for leaf in chosen]
    own_used = [leaf for leaf in own if leaf is not None]
    for programs in (1, 2048):  # few programs, each with several blocks, and many
        scaled_kernels.PROGRAMS, scaled_kernels.NUMBERS = programs, 64
        found = of_runs(scaled_norm.scaled_norm, own)
        close(found.detach(), wanted.detach())
        for a, b in zip(torch.autograd.grad(found, own_used, push.to(place)), slopes):
            close(a, b)
    found = of_runs(scaled_norm.scaled_norm, own)
    for a, b in zip(derivatives(found, own_used, push.to(place)), slopes, strict=True):
        assert (a.cpu() - b).norm() <= loose * b.norm() + 1e-6
    one = [None if leaf is None else leaf[0] for leaf in own]
    close(scaled_norm.scaled_norm(one[0], norm, *one[1:]).detach(), wanted[0].detach())
for shapes in (((2, 3, 300), (2, 20, 129), (1, 8, 5)), ((3, 1, 4), (1, 1, 2), (2, 9, 1)), ((2, 1, 3),) * 3):
    several = [torch.randn(shape) for shape in shapes]
    for a, b in zip(parts.add_parts(*(t.to(place) for t in several)), several, strict=True):
        close(a, b.sum(1))
half = torch.randn(1, 5, 7).bfloat16()
torch.testing.assert_close(parts.add_parts(*[half.to(place)] * 3)[2].cpu(), half.sum(1))
numbers = dict(weight_decay=[0.0, 1.0, 0.1], beta1=[0.9, 0.0, 0.9], beta2=[0.999, 0.9, 0.98], eps=[1e-8, 1e-3, 1e-8])
numbers = {name: torch.tensor(values) for name, values in numbers.items()}
w, g, m, s = (torch.rand(3, 1100) for _ in range(4))
before, lr, clip = torch.tensor([0, 699, 5]), torch.tensor([0.1, 0.01, 0.02]), torch.tensor([0.0, 0.5, 1e9])
norm, wanted = g.norm(dim=1), []
scale = clip_scale(norm, clip)
assert scale[0] == scale[2] == 1 > scale[1]
for i in range(3):
    rule = AdamW(**{name: values[i] for name, values in numbers.items()})
    state = {"mean": m[i].clone(), "square": s[i].clone()}
    wanted.append(rule.update(w[i].clone(), g[i] * scale[i], state, role="matrix", step=before[i] + 1, lr=lr[i], key=None))
own = {name: values.to(place) for name, values in numbers.items()}
w, g, m, s, before, lr, norm, clip = (t.to(place) for t in (w, g, m, s, before, lr, norm, clip))
adamw.adamw_(w, g, m, s, before, lr, norm, clip, **own)
for i, (weight, state) in enumerate(wanted):
    close(w[i], weight), close(m[i], state["mean"]), close(s[i], state["square"])
adamw.adamw_(w, g, m, s, before, lr, torch.full_like(norm, float("nan")), clip, **own)
assert w.isnan().all(1).tolist() == [False, True, True]  # as in clip_scale, where there is a limit
print("same")
"""


def test_gpu_kernels_compute_the_same(say_same):
    say_same(KERNELS)


def test_a_kernel_takes_the_largest_block_that_fits(monkeypatch):
    errors = pytest.importorskip("triton.runtime.errors", reason="Triton is not installed on this platform")
    from grokscope.ops.triton import readout

    tried = []

    class Kernel:
        __name__ = "kernel"

        def __getitem__(self, grid):
            return self.launch

        def launch(self, x, D, BLOCK, num_warps):
            tried.append(BLOCK)
            if BLOCK > 32:
                raise errors.OutOfResources(2, 1, "shared memory")

    monkeypatch.setattr(readout, "_blocks", {})
    for d in (16, 16, 32):
        readout._launch(Kernel(), 1, {"BLOCK": 128, "num_warps": 4}, torch.zeros(1), D=d)
    assert tried == [128, 64, 32, 32, 128, 64, 32]  # known the second time, and only for the same sizes
