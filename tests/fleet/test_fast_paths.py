"""Every fast path against the plain run alone, whose loss comes from its logits: loss, all gradients, ten steps, measures."""

import functools
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from grokscope.config import COMPONENTS, RunConfig
from grokscope.fleet.data import lane_data, with_plan
from grokscope.fleet.objective import Objective, hyper_of
from grokscope.fleet.program import Program
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.parts.norm.layer import LayerNorm
from grokscope.models.parts.norm.rms import RMSNorm
from grokscope.models.transformer import Transformer
from grokscope.ops import triton as kernels
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")
COMBINATIONS = [(o, p) for o in COMPONENTS["optim"].entries() for p in COMPONENTS["prior"].entries()]
MODELS = {
    "default": {},
    "scaled": {"readout_scale": 3.0},
    "normed": {"norm": "attention"},
    "keys": {"norm": "query-key", "norm_kind": "rms"},
    "linear": {"attention": "linear"},
    "before the MLP": {"norm": "mlp"},
    "everywhere": {"norm": "both", "norm_kind": "rms"},
    "heads": {"heads": 4},
    "causal": {"scope": "causal"},
    "standard": {"heads": 2, "scope": "causal", "norm": "both", "readout_scale": 2.0},
    "rotary heads": {"heads": 2, "positions": "rotary", "norm": "value"},
    "biases": {"mlp": ReLU(bias=True), "readout_scale": 2.0},
    "gain before the MLP": {"norm": "mlp", "norm_kind": RMSNorm(affine=True)},
    "gain and bias before attention": {"norm": "attention", "norm_kind": LayerNorm(affine=True)},
    "gain and bias of values": {"norm": "value", "norm_kind": LayerNorm(affine=True), "positions": "rotary"},
    "heads with gain and bias of keys": {"norm": "query-key", "norm_kind": LayerNorm(affine=True), "heads": 2},
    "standard with gains and biases": {
        "heads": 2, "scope": "causal", "norm": "both", "norm_kind": LayerNorm(affine=True), "mlp": ReLU(bias=True)
    },
    "entmax": {"attention": "entmax"},
    "entmax of heads": {"attention": "entmax", "heads": 2, "norm": "both", "positions": "rotary"},
    "gates": {"attention": "stg"},
    "gates of heads": {"attention": "hard-concrete", "heads": 2, "scope": "causal", "norm": "mlp"},
}  # fmt: skip
"""Gains, biases and gates are drawn at random before they are compared: at 1 and 0 they would make no difference."""


def configs_for(tiny, optim, prior):
    rules = {"optim": COMPONENTS["optim"].get(optim)(lr=1e-2), "prior": COMPONENTS["prior"].get(prior)(beta=0.5)}
    return [replace(tiny, seed=seed, **rules) for seed in (0, 1)]


def stacked(configs, fast=True):
    program = Program(configs[0], len(configs), CPU, fuse=fast)
    for lane, config in enumerate(configs):
        program.load(lane, config, lane_data(config))
        stir(program, lane, config.seed)
    return program


def stir(program, lane, seed):
    """Move gains, biases and gates from where they start."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in program.config.model.parameters(program.shape).items():
            if parameter.role == "bias":
                own = program.weights[name][lane]
                own += 0.5 * torch.randn(own.shape, generator=generator).to(own.device)


def by_hand(config):
    """Loss and gradients of one run, with no fleet and no fast path."""
    objective, shape = Objective(config, CPU, fuse=False), config.task.shape
    batch = with_plan(lane_data(config)[0], shape.vocabulary, max(shape.length, shape.test_length))
    program = stacked([config])
    weights = {name: w[0].detach().clone().requires_grad_() for name, w in program.weights.items()}
    hyper = {name: torch.tensor(value) for name, value in hyper_of(config).items()}
    start = torch.tensor(0)
    rates = objective.scheduled(hyper, start)
    loss = objective.loss(weights, hyper, batch, rates.prior, rates.data, start, torch.tensor(config.seed))
    return loss.detach(), torch.autograd.grad(loss, list(weights.values()))


def both(config):
    assert Objective(config, CPU).fused, "this run has no fused path"
    return by_hand(config)


@pytest.mark.parametrize(("optim", "prior"), COMBINATIONS)
def test_ten_steps_are_those_of_the_plain_run(tiny, optim, prior):
    compare_ten_steps(configs_for(tiny, optim, prior))


@pytest.mark.parametrize("model", list(MODELS))
def test_ten_steps_of_every_model_are_those_of_the_plain_run(tiny, model):
    own = Transformer(d=8, d_mlp=16, **MODELS[model])
    configs = [replace(config, model=own) for config in configs_for(tiny, "adamw", "kl")]
    assert all(Objective(config, CPU).fused for config in configs)
    compare_ten_steps(configs)


def compare_ten_steps(configs):
    fast, plain = stacked(configs), [stacked([config], fast=False) for config in configs]
    for _ in range(10):
        for program in (fast, *plain):
            program.train_epoch()
    for lane, alone in enumerate(plain):
        torch.testing.assert_close(fast.flat[lane], alone.flat[0], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("prior", list(COMPONENTS["prior"].entries()))
@pytest.mark.parametrize("model", list(MODELS))
def test_loss_and_every_gradient_are_those_of_the_plain_run(tiny, model, prior):
    config = replace(configs_for(tiny, "adamw", prior)[0], model=Transformer(d=8, d_mlp=16, **MODELS[model]))
    loss, gradients = both(config)
    program = stacked([config, replace(config, seed=5)])
    program._look_ahead()
    rates = program._scheduled()
    vmapped = torch.func.vmap(program.objective.loss)
    total = vmapped(program.weights, program.hyper, program.train, rates.prior, rates.data, program.step, program.seed)
    torch.testing.assert_close(total[0], loss)
    for of, factors in (program._objective(program.train, rates), ([total], [torch.ones_like(total)])):
        found = torch.autograd.grad(of, list(program.weights.values()), factors)
        for name, own, plain in zip(program.weights, found, gradients, strict=True):
            torch.testing.assert_close(
                own[0], plain, rtol=1e-4, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}"
            )


@pytest.fixture
def stream_first(monkeypatch):
    """As on a GPU: x is formed from the heads' pooled values, and the readout begins there."""
    monkeypatch.setattr("grokscope.models.fused.usable_on", lambda device: True)
    assert Transformer(d=8, heads=2).forms_stream(CPU)


@pytest.mark.parametrize("model", list(MODELS))
def test_the_readout_of_a_stream_has_the_same_loss(tiny, model, stream_first):
    test_loss_and_every_gradient_are_those_of_the_plain_run(tiny, model, "kl")


@pytest.mark.parametrize("model", list(MODELS))
def test_the_readout_of_a_stream_measures_the_same(tiny, model, stream_first):
    test_what_is_measured_is_the_same(tiny, model)


@pytest.mark.parametrize("model", list(MODELS))
def test_what_is_measured_is_the_same(tiny, model):
    config = replace(tiny, model=Transformer(d=8, d_mlp=16, **MODELS[model]))
    both(config)
    pair = [config, replace(config, seed=3)]
    fast, plain = stacked(pair), stacked(pair, fast=False)
    plain.flat.copy_(fast.flat)
    seen, wanted = fast.evaluate(), plain.evaluate()
    assert seen.keys() == wanted.keys()
    for name, values in wanted.items():
        assert seen[name] == pytest.approx(values, rel=1e-3, abs=1e-6), name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("distractors", [2, 20])
def test_a_gpu_fleet_stays_near_the_plain_run(tiny, precision, model, distractors):
    task = replace(tiny.task, distractors=distractors)
    config = replace(tiny, task=task, model=Transformer(d=16, d_mlp=32, **MODELS[model]), precision=precision)
    program = Program(config, 3, torch.device("cuda"))
    for lane in range(3):
        program.load(lane, replace(config, seed=lane), lane_data(replace(config, seed=lane)))
        stir(program, lane, lane)  # as `stacked` does
    alone = stacked([replace(config, seed=1, precision="float32")], fast=False)
    for _ in range(10):
        program.train_epoch()
        alone.train_epoch()
    assert (program.flat[1].cpu() - alone.flat[0]).norm() < 0.02 * alone.flat[0].norm()


def test_a_gpu_without_a_compiler_has_no_kernels_and_says_so_once(monkeypatch, capsys):
    def runs():
        raise RuntimeError("Failed to find C compiler.\nSet CC.")

    monkeypatch.setitem(sys.modules, "grokscope.ops.triton.trial", SimpleNamespace(runs=runs))
    monkeypatch.setattr(kernels, "_compiled", functools.cache(kernels._compiled.__wrapped__))
    cuda = torch.device("cuda")
    assert not any(kernels.usable_on(device) for device in (CPU, cuda, cuda))
    assert not Transformer().supports_fused_loss(cuda, "tf32", 113)
    assert capsys.readouterr().err == (
        "GPU kernels are not available, using PyTorch operations instead (slower): Failed to find C compiler.\n"
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_without_kernels_computes_the_same(tiny, monkeypatch):
    programs = []
    for compiled in (True, False):
        monkeypatch.setattr(kernels, "_compiled", lambda compiled=compiled: compiled)
        program = Program(replace(tiny, precision="float32"), 2, torch.device("cuda"))
        for lane in range(2):
            program.load(lane, replace(tiny, seed=lane), lane_data(replace(tiny, seed=lane)))
        for _ in range(5):
            program.train_epoch()
        program.evaluate()
        programs.append(program)
    torch.testing.assert_close(programs[0].flat, programs[1].flat, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["tf32", "bf16"])
@pytest.mark.parametrize("p", [113, 173, 257])
def test_many_classes_fit_into_a_gpu_or_go_the_plain_way(p, precision):
    config = RunConfig(task=Modular(p=p), precision=precision)
    program = Program(config, 2, torch.device("cuda"))
    for lane in range(2):
        program.load(lane, replace(config, seed=lane), lane_data(replace(config, seed=lane)))
    before = program.evaluate()["train_loss"]
    for _ in range(20):
        program.train_epoch()
    assert all(new < old for new, old in zip(program.evaluate()["train_loss"], before, strict=True))
