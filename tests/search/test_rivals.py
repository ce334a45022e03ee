"""Rivals: every one ends within its budget and names what it found; the solvers solve parities."""

from dataclasses import replace

import pyarrow as pa
import pytest
import torch

from grokscope.config import Stop
from grokscope.errors import ConfigError
from grokscope.launch.local import train_all
from grokscope.models.parts.attention.entmax import Entmax
from grokscope.models.parts.attention.softmax import Softmax
from grokscope.models.ticket_transformer import TicketTransformer
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.optim.muon import Muon
from grokscope.optim.noise import Noise
from grokscope.priors.kl import KL
from grokscope.run import Network, StoredRun
from grokscope.searching import SearchSettings, search
from grokscope.searching.compare import chosen_rivals
from grokscope.searching.prepare import prepare
from grokscope.searching.rivals import base
from grokscope.searching.rivals.base import Bout, attended, rivals
from grokscope.searching.rivals.gates import opened
from grokscope.searching.rivals.gf2 import solve
from grokscope.searching.rivals.hard_concrete import Concrete
from grokscope.searching.rivals.stg import Stochastic
from grokscope.searching.schedules.halving import Halving
from grokscope.searching.together import together
from grokscope.searching.training import Trainer
from grokscope.store import list_runs
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity

SOLVERS = ("fourier", "gf2", "lasso")
TRAINED = sorted(set(rivals.entries()) - set(SOLVERS))
PARITY = Parity(n=20, k=3, positions=(2, 7, 15), train_size=400, test_size=200, validation=0.1, confirmation=0.1)


@pytest.fixture
def bout(tiny, tmp_path):
    task = Modular(p=11, distractors=1, train_fraction=0.8, validation=0.1, confirmation=0.1)
    config = replace(tiny, task=task, prior=KL(), epochs=20, stop=Stop(accuracy=0.0))

    return bout_in(tmp_path, config)


def bout_in(runs, config):
    """With a folder of runs of its own."""
    return Bout(config, 20, 2, runs, lambda configs, names: train_all(configs, runs=runs, device="cpu"))


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
    after = rivals.get(name)().compete(bout_in(bout.runs / "shuffled", bout.config))
    assert (after.support, after.run_steps) == (before.support, before.run_steps)


@pytest.mark.parametrize("name", TRAINED)
def test_what_others_have_trained_in_the_same_folder_changes_nothing(bout, name):
    """Plain training has the run of the teacher, and a larger budget that of every rival."""
    for other, times in (("plain", 1), (name, 2)):
        rivals.get(other)().compete(bout._replace(budget=times * bout.budget))
    outcome = rivals.get(name)().compete(bout)
    assert outcome.run_steps <= bout.budget
    assert rivals.get(name)().compete(bout_in(bout.runs / "alone", bout.config)) == outcome


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


# ── several strengths ────────────────────────────────────────────────────────────────────────────────────────


def test_the_best_on_validation_examples_counts_and_the_steps_of_all_do(bout, monkeypatch):
    """Of three runs the second is chosen. It reaches 99 % test accuracy at epoch 4, when the first has ended at epoch 2."""
    rows = {
        2.0: {"val": [0.1, 0.2], "test": [0.1, 1.0]},
        4.0: {"val": [0.1, 0.3, 0.9], "test": [0.1, 0.4, 0.995]},
        8.0: {"val": [0.1, 0.2, 0.5], "test": [0.1, 1.0, 1.0]},
    }

    def metrics(info, columns):
        (column,) = columns
        values = rows[StoredRun(info).config.optim.weight_decay][column.removesuffix("_accuracy")]
        return pa.table({"epoch": [2 * at for at in range(len(values))], column: values})

    def train(configs, names):
        found = train_all(configs, runs=bout.runs, device="cpu")
        ends = {2.0: 2, 4.0: 6, 8.0: 6}
        return [replace(run, epoch=ends[StoredRun(run).config.optim.weight_decay]) for run in found]

    monkeypatch.setattr(base, "read_metrics", metrics)
    outcome = rivals.get("weight-decay")().compete(
        bout._replace(train=train, config=replace(bout.config, optim=AdamW(weight_decay=1.0)))
    )
    assert outcome.note == "weight decay 4, best of 3"
    assert (outcome.run_steps, outcome.generalised) == (2 + 6 + 6, 2 + 4 + 4)
    assert outcome.test_accuracy == 0.995


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("weight-decay", [f"weight decay {decay}" for decay in (2, 4, 8)]),
        ("entropy", ["β = 0.01", "β = 0.1", "β = 1"]),
        ("stg", ["λ = 0.001", "λ = 0.01", "λ = 0.1"]),
        ("hard-concrete", ["λ = 0.001", "λ = 0.01", "λ = 0.1"]),
    ],
)
def test_strengths_have_equal_shares_of_the_budget(bout, name, notes):
    outcome = rivals.get(name)().compete(bout._replace(config=replace(bout.config, optim=AdamW(weight_decay=1.0))))
    assert [run.epoch for run in list_runs(bout.runs)] == [bout.budget // 3] * 3
    assert outcome.note.removesuffix(", best of 3") in notes


# ── gates ────────────────────────────────────────────────────────────────────────────────────────────────────

GATES = {"stg": Stochastic, "hard-concrete": Concrete}
every_gate = pytest.mark.parametrize("name", GATES)
PAIR = Parity(n=10, k=2, positions=(1, 4), train_size=400, test_size=50, validation=0.1, confirmation=0.1)


@every_gate
def test_gates_open_for_the_informative_positions_alone(bout, name):
    config = replace(bout.config, task=PAIR, model=Transformer(d=32, d_mlp=64))
    own = bout._replace(config=config, budget=120, k=None)
    outcome = GATES[name](strengths=(0.003,)).compete(own)
    assert outcome.support == (1, 4)
    assert 0 < outcome.generalised <= outcome.run_steps == 120
    (run,) = map(StoredRun, list_runs(bout.runs))
    assert (run.config.model.attention.kind, run.config.epochs, run.info.epoch) == (name, 120, 120)
    assert {1, 4} < set(opened(run, 3)), "the k largest"


@every_gate
def test_a_large_penalty_closes_all_gates(bout, name):
    assert GATES[name](strengths=(100.0,), rate=0.5).compete(bout._replace(k=None)).support is None


@every_gate
def test_closed_gates_are_told_apart_by_their_parameters(bout, name):
    GATES[name](strengths=(0.1,)).compete(bout)
    (run,) = map(StoredRun, list_runs(bout.runs))
    weights = {"gate": torch.tensor([-9.0, -5.0, -7.0])}
    network = run.network().with_weights(weights)

    class Closed(StoredRun):
        def network(self, epoch=None):
            return network

    attention = run.config.model.attention
    assert (attention.middle(weights["gate"]) == 0).all()
    assert opened(Closed(run.info), 2) == (1, 2)
    assert opened(Closed(run.info), None) is None


@every_gate
def test_the_support_is_named_from_gates_and_not_from_attention(bout, name, monkeypatch):
    before = rivals.get(name)().compete(bout)
    monkeypatch.setattr(Network, "attention", lambda self, examples: torch.eye(4)[:1])
    assert rivals.get(name)().compete(bout) == before


@every_gate
def test_runs_with_gates_are_those_that_are_trained_at_once_when_they_are_continued(bout, name):
    choices, elsewhere = rivals.get(name)()._choices(bout.config).values(), bout.runs / "elsewhere"
    for runs, ends in ((bout.runs, (3, 6)), (elsewhere, (6,))):
        for epochs in ends:
            train_all([replace(choice, epochs=epochs) for choice in choices], runs=runs, device="cpu")
    mine, other = ({run.id: StoredRun(run).network().weights for run in list_runs(r)} for r in (bout.runs, elsewhere))
    assert len(mine) == 3 and mine.keys() == other.keys()
    assert all(torch.equal(mine[run][weight], other[run][weight]) for run in mine for weight in mine[run])


@every_gate
def test_gates_of_several_seeds_are_trained_by_one_call_as_each_alone(bout, name):
    calls, elsewhere = [], bout.runs / "elsewhere"

    def all_of_them(configs, names):
        calls.append(len(configs))
        return train_all(configs, runs=elsewhere, device="cpu")

    def task(config):
        own = bout._replace(config=config, runs=elsewhere)
        return lambda trainer: rivals.get(name)().compete(own._replace(train=trainer.stored))

    configs = [replace(bout.config, seed=seed) for seed in range(3)]
    found = together([task(config) for config in configs], Trainer(all_of_them))
    assert calls == [9], "three strengths of three seeds"
    assert rivals.get(name)().compete(bout._replace(config=configs[1])) == found[1]
    for run in list_runs(bout.runs):
        alone, beside = (StoredRun.find(runs, run.id).network().weights for runs in (bout.runs, elsewhere))
        assert all(torch.equal(alone[weight], beside[weight]) for weight in alone)


@every_gate
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (TicketTransformer(d=8, d_mlp=16), "needs a transformer, not tickets-transformer"),
        (Transformer(d=8, d_mlp=16, attention="linear"), "needs softmax attention, not linear"),
        (Transformer(d=8, d_mlp=16, attention="stg"), "needs softmax attention, not stg"),
    ],
)
def test_gates_need_a_transformer_with_softmax_attention(bout, name, model, problem):
    with pytest.raises(ConfigError, match=f"^rivals: {name} {problem}$"):
        rivals.get(name)().compete(bout._replace(config=replace(bout.config, model=model)))


@every_gate
def test_gates_need_an_optimizer_with_rates_of_their_own(bout, name):
    with pytest.raises(ConfigError, match=r"^optim.kind: muon updates whole matrices"):
        rivals.get(name)().compete(bout._replace(config=replace(bout.config, optim=Muon())))
    assert not list_runs(bout.runs)


@every_gate
def test_gates_keep_the_temperature_of_attention(bout, name):
    model = replace(bout.config.model, attention=Softmax(temperature=2.0))
    rivals.get(name)().compete(bout._replace(config=replace(bout.config, model=model)))
    assert [StoredRun(run).config.model.attention.temperature for run in list_runs(bout.runs)] == [2.0] * 3


# ── by hand ──────────────────────────────────────────────────────────────────────────────────────────────────


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


@pytest.mark.parametrize(
    ("changed", "rival", "problem"),
    [
        ({}, "gf2", "rivals: gf2 solves task parity only, not modular"),
        (
            {"model": TicketTransformer(d=8, d_mlp=16)},
            "entmax",
            "rivals: entmax needs a transformer, not tickets-transf",
        ),
        ({"optim": Muon()}, "stg", "optim.kind: muon updates whole matrices"),
    ],
)
def test_a_rival_that_does_not_apply_is_refused_before_the_search(bout, tmp_path, changed, rival, problem):
    config = replace(bout.config, task=Modular(p=11, distractors=1, train_fraction=0.8, confirmation=0.1), **changed)
    settings = SearchSettings(schedule=Halving(first=5), budget=60)
    with pytest.raises(ConfigError, match=problem):
        search(config, settings=settings, rivals=["plain", rival], runs=tmp_path, device="cpu")
    assert not list(tmp_path.iterdir())
    plan = prepare(config, settings)
    assert rival not in chosen_rivals(["all"], plan) and "plain" in chosen_rivals(["all"], plan)


def test_a_search_is_compared_with_its_rivals(bout, tmp_path):
    config = replace(bout.config, task=Modular(p=11, distractors=1, train_fraction=0.8, confirmation=0.1))
    settings = SearchSettings(schedule=Halving(first=5), budget=60)
    found = search(config, settings=settings, rivals=["plain", "stg"], runs=tmp_path, device="cpu")
    assert [one["name"] for one in found.rivals] == ["search", "plain", "stg"]
    assert [one["run_steps"] for one in found.rivals[1:]] == [80, 78], "three times 26"
    with pytest.raises(ConfigError, match="Did you mean plain"):
        search(config, settings=settings, rivals=["plane"], runs=tmp_path, device="cpu")
    with pytest.raises(ConfigError, match="gf2 solves task parity only"):
        search(config, settings=settings, rivals=["gf2"], runs=tmp_path, device="cpu")
