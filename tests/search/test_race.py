"""The whole race on a small task: what it stores, what it counts, that it continues, and what it refuses."""

import json
from dataclasses import replace

import pytest
import torch

import grokscope
from grokscope.config import Stop
from grokscope.errors import ConfigError, StoreError
from grokscope.models.mlp import MLP
from grokscope.optim.adamw import AdamW
from grokscope.optim.noise import Noise
from grokscope.priors.kl import KL
from grokscope.searching import SearchSettings
from grokscope.searching.api import search
from grokscope.searching.page import write_page
from grokscope.searching.schedules.halving import Halving
from grokscope.searching.training import Trainer
from grokscope.store import list_runs
from grokscope.store.tournaments import load_tournament
from grokscope.supports import mask_of
from grokscope.tasks.modular import Modular
from grokscope.tasks.polynomial import Polynomial

QUICK = SearchSettings(schedule=Halving(first=10))


@pytest.fixture
def config(tiny):
    return replace(
        tiny,
        task=Modular(p=11, distractors=1, alphabet="operands", train_fraction=0.8, confirmation=0.1),
        prior=KL(),
        epochs=40,
        stop=Stop(accuracy=0.0),
    )


def raced(config, runs, **how):
    return search(config, settings=QUICK, runs=runs, device="cpu", **how)


def test_a_race_is_stored_and_counted(config, tmp_path):
    found = raced(config, tmp_path)
    assert found.status == "finished" and len(found.entries) == 7
    stored = {run.id: run for run in list_runs(tmp_path)}
    assert set(stored) == {entry.run for entry in found.entries.values() if entry.epochs > 10}
    assert {run.id: run.epoch for run in stored.values()}.items() <= {
        e.run: e.epochs for e in found.entries.values()
    }.items()
    assert found.run_steps == sum(entry.epochs for entry in found.entries.values())
    winner = found.entries[found.winner]
    assert winner.epochs == 40 and winner.dropped is None
    losers = [entry for entry in found.entries.values() if entry is not winner]
    assert all(entry.dropped == entry.epochs and entry.why for entry in losers)
    assert found.decided["run_steps"] == sum(e.epochs for e in losers) + found.decided["epoch"]
    assert load_tournament(tmp_path, found.id) == json.loads(json.dumps(found.to_dict()))
    page = write_page(found, tmp_path, "grokscope.searching").read_text()
    assert found.verdict().split("(")[0].strip() in page
    assert "In the line charts" not in page, "the note about runs of several seeds"


def test_the_same_call_returns_the_same_tournament_without_training(config, tmp_path):
    first = raced(config, tmp_path)
    again = raced(config, tmp_path, train=lambda configs, names: _stored(configs, tmp_path))
    assert again.to_dict() == first.to_dict()


def _stored(configs, runs):
    by_id = {run.id: run for run in list_runs(runs)}
    return [by_id[config.id] for config in configs]


def test_an_interrupted_race_continues_to_the_same_result(config, tmp_path):
    from grokscope.launch.local import train_all

    calls = []

    def stored(configs, names):
        return train_all(configs, runs=tmp_path / "whole", device="cpu", notify=lambda line: None)

    def interrupted(configs, names):
        calls.append(len(configs))
        chosen = configs if len(calls) < 2 else configs[: len(configs) // 2]
        return train_all(chosen, runs=tmp_path / "killed", device="cpu", notify=lambda line: None)

    whole = raced(config, tmp_path / "whole", train=stored)
    assert len(list_runs(tmp_path / "whole")) == 7, "elsewhere every candidate is stored"
    stopped = raced(config, tmp_path / "killed", train=interrupted)
    assert stopped.status == "stopped" and len(calls) == 2
    assert load_tournament(tmp_path / "killed", stopped.id)["status"] == "stopped"
    assert raced(config, tmp_path / "killed").to_dict() == whole.to_dict()


def test_test_examples_decide_nothing(config, tmp_path, monkeypatch):
    """With other test labels the race takes the same course."""
    before = raced(config, tmp_path / "before").to_dict()
    split = Modular.split

    def shuffled(task, seed):
        own = split(task, seed)
        return own._replace(test=own.test._replace(labels=own.test.labels.roll(1)))

    monkeypatch.setattr(Modular, "split", shuffled)
    after = raced(config, tmp_path / "after").to_dict()
    assert before.pop("outcome") != after.pop("outcome")
    assert before == after


def test_random_labels_have_no_support(config, tmp_path):
    found = raced(replace(config, noise=Noise(labels=1.0)), tmp_path)
    assert found.found is False and found.support is None
    assert found.verdict().startswith("No support found.")


def test_a_search_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="no search abc in"):
        load_tournament(tmp_path, "abc")


def test_the_package_offers_it():
    assert grokscope.search is search


BAD = [
    ({}, {"k": 4}, "search.k: 4 is more than the 3 units that a support can be made of"),
    ({}, {"k": 0}, "search.k: 0 is below 1"),
    ({}, {"k": "two"}, "search.k: 'two' is not an integer; 'two' is not none"),
    ({}, {"rivals": "plan"}, "rival: no rival is called 'plan'. Did you mean plain?"),
    (
        {},
        {"k": 2, "budget": 20},
        "search.budget: 20 run-steps are too few for one rung: auto needs at least 40 to compare 3 candidates at epoch 10",
    ),
    (
        {"task": Modular(p=11, distractors=1, train_fraction=0.8, validation=0.95, confirmation=0.1)},
        {},
        "task.validation: 0.95 and confirmation 0.1 leave no training example",
    ),
    (
        {"task": Modular(p=3, distractors=1, train_fraction=0.8)},
        {},
        "task.validation: 0.1 of 7 training examples leaves no example for validation",
    ),
    ({"model": MLP()}, {}, "model: mlp has no attention: a search compares priors on attention"),
    (
        {"prior": KL(beta=0.3)},
        {},
        "prior: the search sets the prior of every candidate itself; remove it from the configuration",
    ),
    ({"task": Polynomial()}, {}, "task: polynomial cannot set examples aside for validation"),
    ({"exact": True}, {}, "exact: true: candidates that survive a rung could not be continued"),
    (
        {"optim": AdamW(schedule="cosine")},
        {},
        "optim.schedule: the learning rate depends on the last epoch: candidates that survive a rung could not be continued",
    ),
    (
        {"task": Modular(p=11, distractors=1, alphabet="operands", train_fraction=0.8, confirmation=0.04)},
        {},
        "task.confirmation: 3 examples are too few: with every answer correct p would be 0.33, above search.level = 0.01",
    ),
    ({"epochs": 5}, {}, "search.schedule.first: the first rung, epoch 10, is after the last epoch 5"),
]


@pytest.mark.parametrize(("settings", "how", "message"), BAD, ids=[message[:30] for *_, message in BAD])
def test_bad_input_is_one_line_before_anything_is_written(config, tmp_path, settings, how, message):
    with pytest.raises(ConfigError) as error:
        raced(replace(config, **settings), tmp_path / "runs", **how)
    assert str(error.value) == message
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_training(config, tmp_path):
    (tmp_path / "file").write_text("not a folder")

    def train(configs, names):
        raise AssertionError("trained")

    with pytest.raises(StoreError, match="cannot be written"):
        raced(config, tmp_path / "file", train=train)
    with pytest.raises(StoreError, match="cannot be written"):
        raced(config, tmp_path / "file", train=Trainer(train, train))


def test_unknown_names_have_the_nearest(config, tmp_path):
    for settings, message in (
        ({"schedule": "halvin"}, "Did you mean halving?"),
        ({"proposal": "gro"}, "Did you mean grow?"),
        ({"family": "position"}, "Did you mean positions?"),
    ):
        with pytest.raises(ConfigError, match="search") as error:
            search(config, settings=settings, runs=tmp_path)
        assert str(error.value).endswith(message)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["halving", "racing"])
def test_the_example_finds_its_support(tmp_path, schedule):
    from pathlib import Path

    from grokscope.config.files import read_config

    config = read_config(Path("docs/examples/search-small.toml"), {})
    found = search(config, settings={"schedule": schedule}, runs=tmp_path, device="cpu")
    assert found.support == [1, 3]
    assert found.outcome["test_accuracy"] > 0.99


def test_a_device_that_only_workers_have(config, tmp_path):
    """The command may run on a machine without a GPU; its precision is then known already."""
    asked = []

    def train(configs, names):
        asked.append(configs[0].precision)
        return []  # as if it had been interrupted

    found = search(replace(config, precision="tf32"), settings=QUICK, runs=tmp_path, device="cuda:99", train=train)
    assert found.status == "stopped"
    assert asked == ["tf32"]


@pytest.mark.parametrize(
    ("family", "task", "k", "named"),
    [
        ("relative", Modular(p=11, distractors=1, positions=(0, 2), alphabet="operands"), 2, (1, 3)),
        ("after", Modular(p=11, distractors=2, positions=(1, 3), alphabet=1), None, (11,)),
        ("classes", Modular(p=23, distractors=1, placement="random", alphabet=4), None, (0,)),
    ],
)
def test_a_support_of_every_family_is_found(config, tmp_path, family, task, k, named):
    """Relative to the query, behind a symbol in front of both operands, and wherever operands stand."""
    own = replace(config, task=replace(task, train_fraction=0.9), epochs=300, optim=AdamW(lr=1e-2), stop=Stop())
    own = replace(own, model=replace(config.model, d=32, d_mlp=64))
    settings = SearchSettings(family=family, k=k, budget=20_000, confirmation=0.2)
    found = search(own, settings=settings, runs=tmp_path, device="cpu")
    assert found.family == family and found.winner == named
    train = own.task.split(own.seed_for("data")).train
    assert torch.equal(mask_of(family, found.winner, train.inputs), train.informative)
    assert found.support == list(named) and named in found.entries
