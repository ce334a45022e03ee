"""Fourier entropy as it is logged: products with cosines give the transform of the theory, lane by lane."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch.func import vmap

from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.measures.fourier import amplitudes
from grokscope.models.base import Neurons
from grokscope.models.transformer import Transformer
from grokscope.tasks.modular import Modular
from grokscope.theory import fourier_entropy, fourier_transform


@dataclass(frozen=True, kw_only=True)
class WithNeurons(Transformer):
    """What a neuron reads through the embedding and writes through the unembedding, attention left out."""

    kind = "with-neurons"

    def neurons(self, weights):
        return Neurons((weights["W_E"] @ weights["W_in"]).T, weights["W_out"] @ weights["W_U"])


@pytest.fixture
def config():
    return RunConfig(task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6), model=WithNeurons(d=8, d_mlp=16))


def entropy_of(weights):
    """By the fast Fourier transform."""
    return fourier_entropy(fourier_transform(weights)[:, : weights.shape[1] // 2 + 1].abs()).item()


def evaluated(*configs):
    program = Program(configs[0], len(configs), torch.device("cpu"))
    for lane, config in enumerate(configs):
        program.load(lane, config, lane_data(config), None, None)
    return program, program.evaluate()


@pytest.mark.parametrize("count", [1, 2, 3, 8, 67, 113, 257])
def test_products_with_cosines_are_the_fourier_transform(count):
    weights = torch.randn(5, count, generator=torch.Generator().manual_seed(count))
    expected = fourier_transform(weights.double())[:, : count // 2 + 1].abs()
    torch.testing.assert_close(amplitudes(weights).double(), expected, rtol=1e-5, atol=1e-5)
    lanes = torch.stack([weights, weights.flip(0)])
    torch.testing.assert_close(vmap(amplitudes)(lanes)[1], amplitudes(weights).flip(0))


def test_amplitudes_of_a_cosine_by_hand():
    x = np.arange(12)
    wave = torch.tensor(3 * np.cos(2 * np.pi * 5 * x / 12 + 0.7) + 2)
    expected = torch.zeros(7, dtype=torch.float64)
    expected[0], expected[5] = 2 * 12, 3 * 12 / 2
    torch.testing.assert_close(amplitudes(wave[None])[0], expected, rtol=0, atol=1e-12)


def test_entropies_of_operands_and_classes_in_every_lane(config):
    program, table = evaluated(config, replace(config, seed=1))
    for lane in range(2):
        weights = {name: w[lane].detach() for name, w in program.weights.items()}
        reads, writes = config.model.neurons(weights)
        assert reads.shape == (16, 11)  # seven operands, three distractors and "="
        assert table["fourier_entropy_in"][lane] == pytest.approx(entropy_of(reads[:, :7]), rel=1e-5)
        assert table["fourier_entropy_out"][lane] == pytest.approx(entropy_of(writes), rel=1e-5)


def test_a_model_without_such_neurons_logs_nothing(config):
    class Without(WithNeurons):
        def neurons(self, weights):
            return None

    table = evaluated(replace(config, model=Without(d=8, d_mlp=16)))[1]
    assert not [name for name in table if name.startswith("fourier")]
