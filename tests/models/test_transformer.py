"""The transformer: its short cut against the full computation and against a plain nn.Module, its bounds against autograd."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from grokscope.bench import plain_network
from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.models.transformer import Transformer
from grokscope.ops.lookup import plan
from grokscope.randomness import stream
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.modular import Modular

TASK = Modular(p=7, distractors=2, alphabet=3)


def setup(model, task=TASK, seed=0):
    shape = task.shape
    weights = {name: w.requires_grad_() for name, w in model.init(shape, stream(seed, "weights")).items()}
    examples = task.split(seed).train
    return weights, plan(examples.inputs, shape.vocabulary, shape.length), examples


VARIANTS = [
    {"heads": heads, "attention": attention, "readout": readout}
    for heads in (1, 4)
    for attention in ("softmax", "linear")
    for readout in ("residual", "minimal")
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_query_only_equals_full_attention(variant):
    model = Transformer(d=8, d_mlp=16, **variant)
    weights, p, examples = setup(model)
    quick = model.forward(weights, p, detail=True)
    full = replace(model, scope="causal").forward(weights, p, detail=True)
    for name in quick.tensors().keys() - {"stream"}:
        torch.testing.assert_close(getattr(quick, name), getattr(full, name), rtol=1e-4, atol=1e-5, msg=name)
    gradient = torch.randn_like(quick.attention)
    causal = replace(model, scope="causal")
    for method, extra in (("interaction_gradient", (gradient,)), ("embedding_norm", ())):
        short = getattr(model, method)(weights, p, quick, *extra)
        torch.testing.assert_close(short, getattr(causal, method)(weights, p, full, *extra), rtol=1e-4, atol=1e-5)
    losses = [torch.nn.functional.cross_entropy(out.logits, examples.labels) for out in (quick, full)]
    for a, b in zip(*(torch.autograd.grad(loss, list(weights.values())) for loss in losses), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_details_change_nothing_else(variant):
    for scope in ("query", "causal"):
        model = Transformer(d=8, d_mlp=16, scope=scope, **variant)
        weights, p, _ = setup(model)
        short, long = model.forward(weights, p), model.forward(weights, p, detail=True)
        assert short.pooled is short.values is short.stream is short.hidden is None
        assert short.tensors().keys() < long.tensors().keys()
        for name, tensor in short.tensors().items():
            torch.testing.assert_close(tensor, getattr(long, name), rtol=1e-4, atol=1e-5)


def test_equals_a_plain_module():
    config = RunConfig(task=TASK, model=Transformer(d=8, d_mlp=16))
    weights, p, examples = setup(config.model)
    plain = plain_network(config.model, TASK.shape)
    assert plain.label == "nn.Module"
    with torch.no_grad():
        for name, weight in plain.named_weights().items():
            weight.copy_(plain.from_model(name, weights[name]))
        seen = plain(examples.inputs)
        out = config.model.forward(weights, p)
    torch.testing.assert_close(out.logits, seen.logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(out.log_attention, seen.log_attention, rtol=1e-4, atol=1e-5)


NORMS = [(norm, kind) for norm in ("attention", "mlp", "both", "query-key", "value") for kind in ("layer", "rms")]
NORMAL = {"layer": F.layer_norm, "rms": F.rms_norm}
every_norm = pytest.mark.parametrize(("norm", "kind"), NORMS, ids=lambda v: v)


def plain_block(model, weights, x, layer=""):
    """A block of causal attention and MLP over [example, position, d], straight from the definition."""
    d, heads = model.d, model.heads
    normal = NORMAL[model.norm_kind.kind]

    def read(v, *places):
        return normal(v, (d,), eps=1e-5) if model.norm in places else v

    def split(v, name):
        return (v @ weights[name + layer]).view(*x.shape[:2], heads, d // heads).transpose(1, 2)

    for_keys, for_values = read(x, "attention", "both", "query-key"), read(x, "attention", "both", "value")
    q, k, v = split(for_keys, "W_Q"), split(for_keys, "W_K"), split(for_values, "W_V")
    scores = q @ k.transpose(2, 3) / math.sqrt(d // heads)
    ahead = torch.ones(x.shape[1], x.shape[1]).triu(1) > 0
    h = (torch.softmax(scores.masked_fill(ahead, -math.inf), -1) @ v).transpose(1, 2).flatten(2)
    residual = model.readout.residual
    x = x + (h @ weights["W_O" + layer] if heads > 1 else h) if residual else h
    out = torch.relu(read(x, "mlp", "both") @ weights["W_in" + layer]) @ weights["W_out" + layer]
    return x + out if residual else out


@every_norm
@pytest.mark.parametrize(
    "variant", [{}, {"heads": 2}, {"readout": "minimal"}, {"heads": 2, "readout": "minimal"}], ids=str
)
@pytest.mark.parametrize("scope", ["query", "causal"])
def test_normalised_paths_equal_a_plain_forward(norm, kind, variant, scope):
    model = Transformer(d=8, d_mlp=16, norm=norm, norm_kind=kind, readout_scale=2.5, scope=scope, **variant)
    weights, p, examples = setup(model)
    weights = {name: w.detach().double().requires_grad_() for name, w in weights.items()}
    x = plain_block(model, weights, weights["W_E"][examples.inputs] + weights["W_pos"])
    expected = 2.5 * (x[:, -1] @ weights["W_U"] if model.readout.residual else x[:, -1])
    found = model.forward(weights, p).logits
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    gradients = [
        torch.autograd.grad(F.cross_entropy(logits, examples.labels), list(weights.values()))
        for logits in (found, expected)
    ]
    for name, a, b in zip(weights, *gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12, msg=name)
    other = replace(model, norm="none").forward(weights, p).logits
    assert not torch.allclose(found, other, rtol=1e-2)


@every_norm
def test_two_normalised_layers_equal_a_plain_forward(norm, kind):
    model = Transformer(d=8, d_mlp=16, heads=2, layers=2, scope="causal", norm=norm, norm_kind=kind)
    weights, p, examples = setup(model)
    weights = {name: w.detach().double().requires_grad_() for name, w in weights.items()}
    x = weights["W_E"][examples.inputs] + weights["W_pos"]
    for layer in ("", ".1"):
        x = plain_block(model, weights, x, layer)
    out = model.forward(weights, p, every_position=True)
    torch.testing.assert_close(out.logits, x @ weights["W_U"], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(model.forward(weights, p).logits, out.logits[:, -1], rtol=1e-9, atol=1e-12)


@every_norm
@pytest.mark.parametrize("heads", [1, 2])
def test_normalised_query_only_equals_full_attention_in_every_detail(norm, kind, heads):
    model = Transformer(d=8, d_mlp=16, heads=heads, norm=norm, norm_kind=kind)
    causal = replace(model, scope="causal")
    weights, p, _ = setup(model)
    quick, full = model.forward(weights, p, detail=True), causal.forward(weights, p, detail=True)
    for name in quick.tensors().keys() - {"stream"}:
        torch.testing.assert_close(getattr(quick, name), getattr(full, name), rtol=1e-4, atol=1e-5, msg=name)
    gradient = torch.randn_like(quick.attention)
    for method, extra in (("interaction_gradient", (p, quick, gradient)), ("embedding_norm", (p, quick))):
        short = getattr(model, method)(weights, *extra)
        long = getattr(causal, method)(weights, *(full if part is quick else part for part in extra))
        torch.testing.assert_close(short, long, rtol=1e-4, atol=1e-5, msg=method)
    torch.testing.assert_close(model.local_lipschitz(weights, quick), causal.local_lipschitz(weights, full))


def test_values_are_bounded_by_what_they_read():
    """‖v_j‖ ≤ ‖W_V‖ max‖e_j‖ with e_j as the value path reads it: √d long at most when normalised."""
    for norm in ("none", "value", "both", "query-key"):
        model = Transformer(d=8, d_mlp=16, norm=norm, init_scale=3.0)
        weights, p, _ = setup(model)
        out = model.forward(weights, p, detail=True)
        reach = model.embedding_norm(weights, p, out)
        assert (reach <= math.sqrt(8) + 1e-5) == (norm in ("value", "both"))
        longest = out.values.norm(dim=-1).amax()
        assert longest <= model.value_norm(weights) * reach * (1 + 1e-5)


def test_attention_by_hand():
    """d = 1, so ℓ_j = e_q W_Q W_K e_j: with unit weights and embeddings 0, 1, 2 (and no positions) α = softmax(0, 2, 4)."""
    model = Transformer(d=1, d_mlp=1, readout="minimal")
    weights = {name: torch.ones(1, 1) for name in ("W_Q", "W_K", "W_V", "W_in", "W_out")}
    weights |= {"W_E": torch.tensor([[0.0], [1.0], [2.0]]), "W_pos": torch.zeros(3, 1)}
    out = model.forward(weights, plan(torch.tensor([[0, 1, 2]]), 3, 3), detail=True)
    total = 1 + math.exp(2) + math.exp(4)
    alpha = [1 / total, math.exp(2) / total, math.exp(4) / total]
    assert out.attention[0, 0].tolist() == pytest.approx(alpha, rel=1e-5)
    assert out.pooled.item() == pytest.approx(alpha[1] + 2 * alpha[2], rel=1e-5)
    assert out.logits.item() == pytest.approx(alpha[1] + 2 * alpha[2], rel=1e-5)


LIPSCHITZ = [
    *VARIANTS,
    *({"norm": "mlp", "norm_kind": kind, "readout": r} for kind in ("layer", "rms") for r in ("residual", "minimal")),
    {"norm": "both", "heads": 4},
    {"readout_scale": 5.0},
    {"readout_scale": 0.2, "readout": "minimal"},
]


@pytest.mark.parametrize("variant", LIPSCHITZ, ids=lambda v: "-".join(map(str, v.values())))
def test_lipschitz_bound_holds(variant):
    model = Transformer(d=8, d_mlp=16, **variant)
    weights, p, _ = setup(model)
    weights = {name: w.double() for name, w in weights.items()}
    out = model.forward(weights, p, detail=True)
    everywhere, bound = model.lipschitz(weights), model.local_lipschitz(weights, out)
    assert bound <= everywhere
    assert (bound < 0.1 * everywhere) == (model.norm in ("mlp", "both"))

    def mlp(x):
        normal = NORMAL[model.norm_kind.kind]
        return (
            torch.relu((normal(x, (8,), eps=1e-5) if model.norm != "none" else x) @ weights["W_in"]) @ weights["W_out"]
        )

    def logits(h):
        if not model.readout.residual:
            return model.readout_scale * mlp(h)
        x = weights["W_E"][-1] + weights["W_pos"][-1] + (h @ weights["W_O"] if model.heads > 1 else h)
        return model.readout_scale * (x + mlp(x)) @ weights["W_U"]

    h = out.pooled.flatten(1)
    torch.testing.assert_close(logits(h), model.forward(weights, p).logits, rtol=1e-4, atol=1e-5)
    norms = torch.stack(
        [torch.linalg.matrix_norm(torch.autograd.functional.jacobian(logits, row.detach()), ord=2) for row in h]
    )
    assert (norms <= bound * (1 + 1e-5)).all()
    apart, answers_apart = ((t[:, None] - t[None]).norm(dim=-1) for t in (h, logits(h)))
    assert (answers_apart <= bound * apart + 1e-12).all()


def test_local_lipschitz_is_exact_for_a_normalised_input():
    """W_in and W_out the identity on positive vectors: what is left is N, whose slope is 1/s across x and its mean."""
    model = Transformer(d=4, d_mlp=4, readout="minimal", norm="mlp", norm_kind="rms")
    weights = {name: torch.eye(4) for name in ("W_Q", "W_K", "W_V", "W_in", "W_out")}
    weights |= {"W_E": torch.tensor([[0.3, 0.3, 0.3, 0.3]]), "W_pos": torch.zeros(2, 4)}
    p = plan(torch.tensor([[0, 0]]), 1, 2)
    out = model.forward(weights, p, detail=True)
    jacobian = torch.autograd.functional.jacobian(lambda x: F.rms_norm(x, (4,), eps=1e-5), out.pooled[0, 0])
    slope = torch.linalg.matrix_norm(jacobian, ord=2)
    assert slope.item() == pytest.approx(1 / math.sqrt(0.09 + 1e-5), rel=1e-5)
    # the Schatten norm that stands for the spectral norm is r^(1/2n) too large: 4^(1/1024) for each of two matrices
    assert model.local_lipschitz(weights, out).item() == pytest.approx(slope.item(), rel=4 ** (2 / 1024) - 1 + 1e-5)


def test_neurons_by_hand():
    task = Modular(p=5, distractors=1, alphabet=2)
    model = Transformer(d=4, d_mlp=6, readout_scale=2.0)
    weights, _, _ = setup(model, task)
    reads, writes = model.neurons(weights)
    assert (reads.shape, writes.shape) == ((6, 5), (6, 5))
    token, neuron, label = 3, 2, 4
    value = sum(weights["W_E"][token, i] * weights["W_V"][i] for i in range(4))
    assert reads[neuron, token].item() == pytest.approx((value * weights["W_in"][:, neuron]).sum().item(), rel=1e-4)
    written = (weights["W_out"][neuron] * weights["W_U"][:, label]).sum()
    assert writes[neuron, label].item() == pytest.approx(2 * written.item(), rel=1e-4)
    minimal = replace(model, readout="minimal")
    own, _, _ = setup(minimal, task)
    torch.testing.assert_close(minimal.neurons(own).writes, 2 * own["W_out"])
    assert replace(model, norm="query-key").neurons(weights) is not None
    assert all(replace(model, norm=norm).neurons(weights) is None for norm in ("attention", "value", "mlp", "both"))
    assert replace(model, heads=2).neurons(weights) is replace(model, layers=2).neurons(weights) is None
    few_tokens = {**weights, "W_E": weights["W_E"][:4]}
    assert model.neurons(few_tokens) is None


@pytest.mark.parametrize("attention", ["softmax", "linear"])
def test_offset_gradient_is_that_of_the_logits(attention):
    """∂CE/∂ℓ_j = s_j (v_j − h) · ∂CE/∂h, with the model's own sensitivity s."""
    model = Transformer(d=8, d_mlp=16, heads=2, attention=attention)
    weights, p, examples = setup(model)
    gradients = []
    for scope in ("query", "causal"):
        offset = torch.zeros(len(examples.labels), 2, 5, requires_grad=True)
        out = replace(model, scope=scope).forward(weights, p, offset=offset, detail=True)
        loss = torch.nn.functional.cross_entropy(out.logits, examples.labels)
        gradients += torch.autograd.grad(loss, offset, retain_graph=True)
        if scope == "query":
            gradients += torch.autograd.grad(loss, out.attention_logits, retain_graph=True)
            (to_h,) = torch.autograd.grad(loss, out.pooled)
            spread = out.values - out.pooled.unsqueeze(2)
            gradients.append(model.sensitivity(out) * torch.einsum("nhjw,nhw->nhj", spread, to_h))
    for other in gradients[1:]:
        torch.testing.assert_close(gradients[0], other, rtol=1e-4, atol=1e-7)
    assert gradients[0].abs().max() > 0


def test_causal_attention_never_looks_ahead():
    model = Transformer(d=8, d_mlp=16, layers=2, scope="causal")
    task = AutoregressiveParity(n=6, k=2)
    weights, _, examples = setup(model, task)
    tokens = examples.inputs[:4].clone()
    before = model.forward(weights, plan(tokens, 3, 7), every_position=True).logits
    tokens[:, 4] = 1 - tokens[:, 4]
    after = model.forward(weights, plan(tokens, 3, 7), every_position=True).logits
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_frozen_attention_replaces_the_learned():
    model = Transformer(d=8, d_mlp=16)
    weights, p, examples = setup(model)
    frozen = torch.zeros(len(examples.labels), 5)
    frozen[:, 1] = 1
    out = model.forward(weights, p, frozen=frozen, detail=True)
    torch.testing.assert_close(out.pooled[:, 0], out.values[:, 0, 1])


def test_readout_scale_changes_the_logits_and_not_the_start():
    once, ten = (Transformer(d=8, d_mlp=16, readout_scale=s) for s in (1.0, 10.0))
    weights, p, _ = setup(once)
    for name, weight in setup(ten)[0].items():
        assert torch.equal(weight, weights[name])
    torch.testing.assert_close(10 * once.forward(weights, p).logits, ten.forward(weights, p).logits)


def test_init_scale_scales_the_same_draw():
    once, twice = (setup(Transformer(d=8, d_mlp=16, init_scale=s))[0] for s in (1.0, 2.0))
    for name in once:
        torch.testing.assert_close(2 * once[name], twice[name])


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"heads": 3}, "heads"),
        ({"d": 0}, "d"),
        ({"layers": 2}, "layers"),
        ({"layers": 2, "scope": "causal", "readout": "minimal"}, "layers"),
        ({"init_scale": 0.0}, "init_scale"),
        ({"readout_scale": -1.0}, "readout_scale"),
    ],
)
def test_impossible_settings(settings, field):
    with pytest.raises(ConfigError) as error:
        Transformer(**settings).check()
    assert error.value.field == field
