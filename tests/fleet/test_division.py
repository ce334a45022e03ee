"""Training batches in blocks: what is divided, that it trains the same network, and that bits do not depend on the threads."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet import division
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.fleet.start import initial_weights
from grokscope.models.committee import Committee
from grokscope.models.lstm import LSTM
from grokscope.models.mlp import MLP
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.transformer import Transformer
from grokscope.ops.team import team_of
from grokscope.optim.adamw import AdamW
from grokscope.optim.noise import Noise
from grokscope.priors.kl import KL
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from grokscope.tasks.polynomial import Polynomial
from grokscope.tickets import Origin
from grokscope.tickets.edge_popup import EdgePopup

CPU = torch.device("cpu")
SIGNS = Parity(n=6, k=2, train_fraction=0.5, form="signs")
BASE = RunConfig(task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6), optim=AdamW(lr=1e-2))
CAUSAL = Transformer(d=8, d_mlp=16, layers=2, scope="causal", heads=2)
KINDS = {
    "mlp": replace(BASE, task=SIGNS, model=MLP(width=8)),
    "committee": replace(BASE, task=Polynomial(dimension=5, train_size=20), model=Committee(width=8), loss="mse"),
    "lstm": replace(BASE, model=LSTM(d=4, hidden=6)),
    "two layers": replace(BASE, model=CAUSAL),
    "two layers, mini-batches": replace(BASE, model=CAUSAL, batch_size=14),
    "next token": replace(
        BASE, task=AutoregressiveParity(n=6, k=2, train_fraction=0.5), model=Transformer(d=8, d_mlp=16, scope="causal")
    ),
    "weight noise": replace(BASE, task=SIGNS, model=MLP(width=8), noise=Noise(weights=0.05)),
    "scores": replace(BASE, task=SIGNS, model=MLP(width=8), ticket=EdgePopup(run="origin")),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that a few examples are several blocks."""
    for limit in ("_VECTORS", "_SEQUENCES"):
        monkeypatch.setattr(division, limit, 6)
    monkeypatch.setattr(division, "_WORTHWHILE", 0)


def loaded(config, **how):
    program = Program(config.check(), 1, CPU, **how)
    start = initial_weights(config)
    program.load(0, config, lane_data(config), origin=Origin(start, start, {}))
    return program


def is_divided(config):
    return len(loaded(config).bounds) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_train_the_same_network(kind):
    divided, whole = loaded(KINDS[kind]), loaded(KINDS[kind], fuse=False)
    assert len(divided.bounds) > 1
    assert not whole.bounds
    for _ in range(10):
        divided.train_epoch()
        whole.train_epoch()
    torch.testing.assert_close(divided.flat, whole.flat, rtol=2e-3, atol=2e-4)
    measured, expected = divided.evaluate(), whole.evaluate()
    assert measured.keys() == expected.keys()
    for column, values in measured.items():
        assert values == pytest.approx(expected[column], rel=1e-2, abs=1e-3), column


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads(kind):
    found = []
    for threads in (1, 2, 3):
        with team_of(threads) as team, team.member():
            program = loaded(KINDS[kind])
            for _ in range(4):
                program.train_epoch()
            found.append((program.unload(0), program.evaluate()))
    for state, table in found[1:]:
        assert all(torch.equal(state[name], tensor) for name, tensor in found[0][0].items())
        assert table == found[0][1]


@pytest.mark.parametrize(
    "settings",
    [
        {"task": SIGNS, "model": MLP(width=8, dropout=0.3)},
        {"task": SIGNS, "model": MLP(width=8), "noise": Noise(labels=0.3, redraw="every-step")},
        {"model": CAUSAL, "prior": KL(beta=0.1)},
        {"model": replace(CAUSAL, attention="stg")},
        {"model": Transformer(d=8, d_mlp=16, mlp="gelu")},
    ],
    ids=["dropout", "label noise", "prior", "gates", "tables"],
)
def test_what_needs_the_whole_batch_is_not_divided(settings):
    assert not is_divided(replace(BASE, **settings))


def test_small_steps_are_not_divided(monkeypatch):
    monkeypatch.setattr(division, "_WORTHWHILE", division.multiply_adds(KINDS["mlp"]) + 1)
    assert not is_divided(KINDS["mlp"])
    assert is_divided(replace(KINDS["mlp"], model=MLP(width=9)))


@dataclass(frozen=True, kw_only=True)
class Centred(MLP):
    """Subtracts the mean over the batch: other examples matter."""

    kind = "centred"

    def forward(self, weights, inputs, **how):
        return super().forward(weights, inputs - inputs.mean(0), **how)


def test_a_subclass_is_not_divided_unless_it_says_so():
    assert not is_divided(replace(KINDS["mlp"], model=Centred(width=8)))


def test_changed_code_is_not_divided(monkeypatch):
    assert is_divided(KINDS["two layers"])
    monkeypatch.setattr(ReLU, "hidden", lambda self, x, weights: torch.relu(x - x.mean(0)) @ weights["W_in"])
    assert not is_divided(KINDS["two layers"])


@dataclass(frozen=True, kw_only=True)
class Drawing(MLP):
    """Draws from the global generator."""

    kind = "drawing"
    examplewise: ClassVar[bool] = True

    def forward(self, weights, inputs, **how):
        return super().forward(weights, inputs + torch.rand_like(inputs), **how)


def test_global_randomness_is_refused_in_every_thread():
    with team_of(3) as team, team.member():
        program = loaded(replace(KINDS["mlp"], model=Drawing(width=8)))
        with pytest.raises(ConfigError, match="global generator"):
            program.train_epoch()
