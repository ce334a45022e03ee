"""Rivals: every one ends within its budget and names what it found; the solvers solve parities."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import Stop
from grokscope.errors import ConfigError
from grokscope.launch.local import train_all
from grokscope.models.parts.attention.entmax import Entmax
from grokscope.optim.noise import Noise
from grokscope.priors.kl import KL
from grokscope.searching import SearchSettings, search
from grokscope.searching.compare import SOLVERS
from grokscope.searching.rivals.base import Bout, attended, rivals
from grokscope.searching.rivals.gf2 import solve
from grokscope.searching.schedules.halving import Halving
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity

TRAINED = sorted(set(rivals.entries()) - set(SOLVERS))
PARITY = Parity(n=20, k=3, positions=(2, 7, 15), train_size=400, test_size=200, validation=0.1, confirmation=0.1)


@pytest.fixture
def bout(tiny, tmp_path):
    task = Modular(p=11, distractors=1, train_fraction=0.8, validation=0.1, confirmation=0.1)
    config = replace(tiny, task=task, prior=KL(), epochs=20, stop=Stop(accuracy=0.0))

    def train(configs, names):
        return train_all(configs, runs=tmp_path, device="cpu")

    return Bout(config, 20, 2, tmp_path, train)


@pytest.mark.parametrize("name", TRAINED)
def test_every_rival_spends_its_budget_and_names_a_support(bout, name):
    outcome = rivals.get(name)().compete(bout)
    assert outcome.name == name
    assert 0 < outcome.run_steps <= bout.budget
    assert outcome.support is not None and len(outcome.support) == 2
    assert 0 <= outcome.test_accuracy <= 1
    assert rivals.get(name)().compete(bout) == outcome, "the same again"


@pytest.mark.parametrize("name", TRAINED)
def test_test_examples_decide_nothing(bout, name, monkeypatch):
    before = rivals.get(name)().compete(bout)
    split = Modular.split

    def shuffled(task, seed):
        own = split(task, seed)
        return own._replace(test=own.test._replace(labels=own.test.labels.roll(1)))

    monkeypatch.setattr(Modular, "split", shuffled)
    after = rivals.get(name)().compete(bout._replace(runs=bout.runs))
    assert (after.support, after.run_steps) == (before.support, before.run_steps)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("k", [3, None])
def test_solvers_find_a_parity(bout, name, k):
    outcome = rivals.get(name)().compete(bout._replace(config=replace(bout.config, task=PARITY), k=k))
    assert outcome.support == (2, 7, 15)
    assert (outcome.run_steps, outcome.generalised, outcome.test_accuracy) == (0, 0, 1.0)


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_find_a_parity_with_noisy_labels(bout, name):
    config = replace(bout.config, task=PARITY, noise=Noise(labels=0.1))
    assert rivals.get(name)().compete(bout._replace(config=config, k=3)).support == (2, 7, 15)


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_refuse_other_tasks(bout, name):
    with pytest.raises(ConfigError, match=f"{name} solves task parity only, not modular"):
        rivals.get(name)().compete(bout)


def test_linear_systems_by_hand():
    bits = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert solve(bits[:2], torch.tensor([1, 0])).tolist() == [1, 0, 0]
    assert solve(bits, torch.tensor([1, 0, 0])) is None, "the rows add up to 0, the labels do not"


def test_what_is_attended():
    attention = torch.tensor([[0.4, 0.05, 0.3, 0.05, 0.2]])
    assert attended(attention, 2) == (0, 2)
    assert attended(attention, None) == (0, 2)
    assert attended(attention, 1) == (0,)


def test_entmax_solves_its_definition():
    logits = torch.randn(50, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3
    log_attention, attention = Entmax().normalise(logits, None)
    assert torch.allclose(attention.sum(-1), torch.ones(50, dtype=torch.float64))
    assert (attention == 0).any() and log_attention.isfinite().all()
    # the threshold by bisection
    low, high = logits.amax(-1, keepdim=True) / 2 - 1, logits.amax(-1, keepdim=True) / 2
    for _ in range(60):
        middle = (low + high) / 2
        over = torch.relu(logits / 2 - middle).square().sum(-1, keepdim=True) > 1
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    assert torch.allclose(attention, torch.relu(logits / 2 - low).square(), atol=1e-9)


def test_a_search_is_compared_with_its_rivals(bout, tmp_path):
    config = replace(bout.config, task=Modular(p=11, distractors=1, train_fraction=0.8))
    settings = SearchSettings(schedule=Halving(first=5), budget=60)
    found = search(config, settings=settings, rivals=["plain", "stg"], runs=tmp_path, device="cpu")
    assert [one["name"] for one in found.rivals] == ["search", "plain", "stg"]
    assert [one["run_steps"] for one in found.rivals[1:]] == [80, 80]
    with pytest.raises(ConfigError, match="Did you mean plain"):
        search(config, settings=settings, rivals=["plane"], runs=tmp_path, device="cpu")
    with pytest.raises(ConfigError, match="gf2 solves task parity only"):
        search(config, settings=settings, rivals=["gf2"], runs=tmp_path, device="cpu")
