"""Gain and bias of norms, biases of MLPs, and attention to all positions, against plain PyTorch layers."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.parts.norm.layer import LayerNorm
from grokscope.models.parts.norm.placement import PATHS
from grokscope.models.parts.norm.rms import RMSNorm
from grokscope.models.transformer import Transformer
from grokscope.ops.lookup import plan
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular

TASK = Modular(p=7, distractors=1, alphabet=3)
BIASED = Transformer(d=8, d_mlp=16, heads=2, mlp=ReLU(bias=True), norm_kind=LayerNorm(affine=True))


def drawn(model):
    """Random weights in double precision: no gain is 1, no bias 0."""
    generator = torch.Generator().manual_seed(3)
    parameters = model.parameters(TASK.shape)
    return {n: torch.randn(p.shape, generator=generator).double() / math.sqrt(8) for n, p in parameters.items()}


def sequences():
    examples = TASK.split(0).train
    return examples.inputs, plan(examples.inputs, TASK.shape.vocabulary, TASK.shape.length)


def reference(model, weights, tokens):
    """Attention to all positions, as nn.MultiheadAttention does it, and pre-norms with gain and bias; logits and pre-logits."""
    x = weights["W_E"][tokens] + weights["W_pos"]
    for layer in range(model.layers):
        w = (
            {n.removesuffix(f".{layer}"): t for n, t in weights.items() if n.endswith(f".{layer}")}
            if layer
            else weights
        )

        def norm(x, path, site, w=w):
            if path not in PATHS[model.norm]:
                return x
            if isinstance(model.norm_kind, RMSNorm):
                return F.rms_norm(x, (8,), w[f"gain_{site}"], eps=1e-5)
            return F.layer_norm(x, (8,), w[f"gain_{site}"], w[f"bias_{site}"], eps=1e-5)

        keys, values = norm(x, "query-key", "attention"), norm(x, "value", "attention")
        q, k, v = (
            (s @ w[n]).unflatten(2, (2, -1)).transpose(1, 2) for s, n in ((keys, "W_Q"), (keys, "W_K"), (values, "W_V"))
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ w["W_O"]
        x = x + mixed
        x = x + torch.relu(norm(x, "mlp", "mlp") @ w["W_in"] + w["b_in"]) @ w["W_out"] + w["b_out"]
    return x[:, -1] @ weights["W_U"], x[:, -1]


@pytest.mark.parametrize("kind", [LayerNorm(affine=True), RMSNorm(affine=True)], ids=lambda kind: kind.kind)
@pytest.mark.parametrize("norm", list(PATHS))
@pytest.mark.parametrize("layers", [1, 3])
def test_it_is_the_block_of_plain_layers(norm, kind, layers):
    model = replace(BIASED, norm=norm, norm_kind=kind, layers=layers, scope="full")
    weights = drawn(model)
    tokens, read = sequences()
    out = model.forward(weights, read, detail=True)
    logits, prelogits = reference(model, weights, tokens)
    torch.testing.assert_close(out.logits, logits)
    torch.testing.assert_close(out.prelogits, prelogits)


def test_causal_and_full_attention_differ_in_depth_only():
    _, read = sequences()
    for layers, same in ((1, True), (2, False)):
        model = replace(BIASED, layers=layers, scope="full", norm="both")
        weights = drawn(model)
        causal = replace(model, scope="causal").forward(weights, read).logits
        assert torch.allclose(model.forward(weights, read).logits, causal) == same


def test_gain_starts_at_one_bias_at_zero_and_other_weights_as_without_norm():
    plain, normed = (replace(BIASED, norm=norm).init(TASK.shape, stream(0, "weights")) for norm in ("none", "both"))
    own = {"gain_attention": 1.0, "bias_attention": 0.0, "gain_mlp": 1.0, "bias_mlp": 0.0}
    assert set(normed) - set(plain) == set(own)
    assert all((normed[name] == value).all() for name, value in own.items())
    assert all(torch.equal(plain[name], normed[name]) for name in plain)
    rms = replace(BIASED, norm="mlp", norm_kind=RMSNorm(affine=True)).parameters(TASK.shape)
    assert "gain_mlp" in rms and "bias_mlp" not in rms


def test_weights_of_a_fresh_run_give_the_logits_of_a_run_without_gain_and_bias():
    """Before the first step nothing has changed; after it gains and biases have moved."""
    affine, plain = (
        RunConfig(task=TASK, model=replace(BIASED, norm="both", norm_kind=kind, mlp=mlp))
        for kind, mlp in ((LayerNorm(affine=True), ReLU()), (LayerNorm(), ReLU()))
    )
    programs = []
    for config in (affine, plain):
        program = Program(config, 1, torch.device("cpu"))
        program.load(0, config.check(), lane_data(config))
        programs.append(program)
    losses = [program.evaluate()["train_loss"][0] for program in programs]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    programs[0].train_epoch()
    assert (programs[0].weights["gain_mlp"] != 1).any() and (programs[0].weights["bias_attention"] != 0).any()


@pytest.mark.parametrize("norm", list(PATHS))
def test_the_bound_of_the_lemma_covers_gains(norm):
    """|∂CE/∂ℓ_j| ≤ α_j ‖v_j − h‖ L_f √(2 CE) with gains and biases far from 1 and 0."""
    model = replace(BIASED, norm=norm, heads=1)
    config = RunConfig(task=TASK, model=model)
    weights = {name: 2 * w.float() for name, w in drawn(model).items()}
    program = Program(config, 1, torch.device("cpu"))
    program.load(
        0, config, lane_data(config), {f"weight/{name}": w for name, w in weights.items()} | {"step": torch.tensor(0)}
    )
    assert 0 < program.evaluate()["bound_ratio"][0] <= 1
    if norm == "mlp":
        _, read = sequences()
        out = model.forward(weights, read, detail=True)
        doubled = weights | {"gain_mlp": 2 * weights["gain_mlp"]}
        assert model.local_lipschitz(doubled, out) > model.local_lipschitz(weights, out)


@pytest.mark.parametrize(("norm", "layers"), [("both", 1), ("query-key", 1), ("value", 3)])
def test_lanes_with_gains_and_biases_are_the_runs_alone(norm, layers):
    model = replace(BIASED, norm=norm, layers=layers, scope="full")
    configs = [RunConfig(task=TASK, model=model, seed=seed).check() for seed in range(2)]

    def trained(*own):
        program = Program(own[0], len(own), torch.device("cpu"))
        for lane, config in enumerate(own):
            program.load(lane, config, lane_data(config))
        for _ in range(5):
            program.train_epoch()
        return program

    together = trained(*configs)
    for lane, config in enumerate(configs):
        alone = trained(config)
        torch.testing.assert_close(together.flat[lane], alone.flat[0], rtol=2e-3, atol=2e-4)
        assert together.evaluate()["test_loss"][lane] == pytest.approx(alone.evaluate()["test_loss"][0], rel=1e-3)


@pytest.mark.parametrize("layers", [1, 2])
def test_networks_with_norms_are_measured_in_bf16(layers):
    """Near what is measured in float32."""
    model = replace(BIASED, norm="both", layers=layers, scope="causal")
    found = []
    for precision in ("float32", "bf16"):
        config = RunConfig(task=TASK, model=model, precision=precision).check()
        program = Program(config, 1, torch.device("cpu"))
        program.load(0, config, lane_data(config))
        found.append(program.evaluate())
    for name in ("train_loss", "test_loss", "bound_ratio"):
        assert found[1][name] == pytest.approx(found[0][name], rel=0.05), name
