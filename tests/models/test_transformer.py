"""The transformer: its short cut against the full computation and against a plain nn.Module, its bounds against autograd."""

import math
from dataclasses import replace

import pytest
import torch

from grokscope.bench import PlainTransformer
from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.models.lookup import plan
from grokscope.models.transformer import Transformer
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
    for name, a, b in zip(quick._fields[:-1], quick, full, strict=False):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=name)
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
        assert short.pooled is short.values is short.stream is None
        for a, b in zip(short[:4], long[:4], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_equals_a_plain_module():
    config = RunConfig(task=TASK, model=Transformer(d=8, d_mlp=16))
    weights, p, examples = setup(config.model)
    plain = PlainTransformer(config)
    with torch.no_grad():
        plain.embed.weight.copy_(weights["W_E"])
        plain.position.copy_(weights["W_pos"])
        for name, layer in (("W_Q", plain.query), ("W_K", plain.key), ("W_V", plain.value), ("W_U", plain.unembed)):
            layer.weight.copy_(weights[name].T)
        plain.mlp[0].weight.copy_(weights["W_in"].T)
        plain.mlp[2].weight.copy_(weights["W_out"].T)
        logits, log_attention = plain(examples.inputs)
        out = config.model.forward(weights, p)
    torch.testing.assert_close(out.logits, logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(out.log_attention[:, 0], log_attention, rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_lipschitz_bound_holds(variant):
    model = Transformer(d=8, d_mlp=16, **variant)
    weights, p, _ = setup(model)
    bound = model.lipschitz(weights)

    def logits(h):
        if model.readout == "minimal":
            return torch.relu(h @ weights["W_in"]) @ weights["W_out"]
        x = weights["W_E"][-1] + weights["W_pos"][-1] + (h @ weights["W_O"] if model.heads > 1 else h)
        return (x + torch.relu(x @ weights["W_in"]) @ weights["W_out"]) @ weights["W_U"]

    h = model.forward(weights, p, detail=True).pooled.flatten(1)
    torch.testing.assert_close(logits(h), model.forward(weights, p).logits, rtol=1e-4, atol=1e-5)
    for row in h[:5]:
        jacobian = torch.autograd.functional.jacobian(logits, row.detach())
        assert torch.linalg.matrix_norm(jacobian, ord=2) <= bound * (1 + 1e-5)


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
    ],
)
def test_impossible_settings(settings, field):
    with pytest.raises(ConfigError) as error:
        Transformer(**settings).check()
    assert error.value.field == field
