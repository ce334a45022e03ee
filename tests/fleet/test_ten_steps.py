"""Ten steps of a fleet against ordinary networks (nn.Module, autograd, torch.optim), one per run, with all optimizers."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grokscope.bench.fleet import first_step, loaded
from grokscope.bench.plain import PlainLoop
from grokscope.bench.verify import differences, plain_batch
from grokscope.config import COMPONENTS, RunConfig
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.parts.norm.layer import LayerNorm
from grokscope.models.transformer import Transformer
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular

GAINS = {"norm": "both", "norm_kind": LayerNorm(affine=True), "mlp": ReLU(bias=True)}
NETWORKS = {
    "default": RunConfig(
        task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
        model=Transformer(d=8, d_mlp=16),
        prior=KL(beta=0.5),
    ),
    "standard": RunConfig(
        task=Modular(p=7, distractors=0, train_fraction=0.6),
        model=Transformer(d=8, d_mlp=16, heads=4, scope="causal", **GAINS),
    ),
    "two layers in batches": RunConfig(
        task=Modular(p=7, distractors=0, train_fraction=0.6),
        model=Transformer(d=8, d_mlp=16, heads=2, layers=2, scope="causal", **GAINS),
        batch_size=8,
    ),
    "embedding-mlp": RunConfig(
        task=Modular(p=7, pairs="unordered", distractors=0, train_fraction=0.6), model=EmbeddingMLP(d=8, d_mlp=12)
    ),
}
OPTIMIZERS = list(COMPONENTS["optim"].entries())
SEEDS = (3, 8)


def started(config, device, lanes=SEEDS):
    """A fleet, and one ordinary network per lane with the same weights; gains and biases are moved from 1 and 0."""
    program = loaded(config, lanes, device)
    plain = [PlainLoop(replace(config, seed=seed), device) for seed in lanes]
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in config.model.parameters(config.task.shape).items():
            if parameter.role == "bias":
                program.weights[name] += 0.3 * torch.randn(program.weights[name].shape, generator=generator).to(device)
            for lane, own in enumerate(plain):
                own.weights[name].copy_(own.from_model(name, program.weights[name][lane]))
    return program, plain


def assert_same_steps(config, device, lanes=SEEDS, steps=10, first=1e-3, after=0.02):
    """Loss, all gradients and ten steps. A sign can flip where a gradient is rounding alone: steps are compared as a whole."""
    program, plain = started(config, device, lanes)
    assert plain[0].label == "nn.Module"
    assert max(differences(plain[0], first_step(program)).values()) < first
    start = program.flat.clone()
    for _ in range(steps):
        batch = program._batch()
        for lane, own in enumerate(plain):
            of_lane = own._prepared(plain_batch({name: t[lane] for name, t in batch.items()}, own.shape))
            own._batch = lambda of_lane=of_lane: of_lane
            own.step()
        program.train_steps(1)
    for lane, own in enumerate(plain):
        expected = program.layout.join({name: own.to_model(name, w.detach()) for name, w in own.weights.items()})
        moved = (program.flat[lane] - start[lane]).norm()
        assert moved > 0
        assert (program.flat[lane] - expected).norm() < after * moved


def with_optimizer(network, optim):
    return replace(NETWORKS[network], optim=COMPONENTS["optim"].get(optim)(lr=1e-2), precision="float32").check()


@pytest.mark.parametrize("lanes", [SEEDS, SEEDS[:1]], ids=["stacked", "alone"])
@pytest.mark.parametrize("optim", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_ten_steps_are_those_of_ordinary_networks(network, optim, lanes):
    assert_same_steps(with_optimizer(network, optim), torch.device("cpu"), lanes)


KERNELS = """
import os, sys, torch
place = torch.device("cpu" if os.environ.get("TRITON_INTERPRET") else "cuda")
import grokscope.ops.triton as kernels
if place.type == "cpu":
    kernels.usable_on = lambda device: True
    torch.set_float32_matmul_precision("high")  # products with a ReLU are kernels, too
sys.path.insert(0, FOLDER)
import test_ten_steps as steps
for network in steps.NETWORKS:
    config = steps.with_optimizer(network, "adamw")
    assert config.model.forms_stream(place) == (config.model.kind == "transformer")
    steps.assert_same_steps(config, place, steps=2, first=1e-3 if place.type == "cpu" else 1e-2, after=0.05)
print("same")
"""


def test_steps_with_the_kernels_of_a_gpu_are_those_of_ordinary_networks(say_same):
    """Under Triton's interpreter where there is no GPU: as stacked runs on a GPU, apart from graphs."""
    say_same(KERNELS.replace("FOLDER", repr(str(Path(__file__).parent))))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_that_differs_is_noticed(network, monkeypatch):
    """The comparison can fail: one lane's weights are changed a little in the middle."""
    step = PlainLoop.step

    def disturbed(self):
        step(self)
        if self.steps == 5 and self.config.seed == SEEDS[1]:
            with torch.no_grad():
                next(iter(self.weights.values())).mul_(1.2)

    monkeypatch.setattr(PlainLoop, "step", disturbed)
    with pytest.raises(AssertionError):
        assert_same_steps(with_optimizer(network, "adamw"), torch.device("cpu"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optim", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_ten_steps_on_a_gpu_are_those_of_ordinary_networks(network, optim):
    assert_same_steps(with_optimizer(network, optim), torch.device("cuda"), first=1e-2, after=0.05)
