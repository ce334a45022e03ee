"""The plain loop trains what the fleet trains, for every registry entry, and bench refuses to compare anything else."""

import dataclasses
from dataclasses import replace

import pytest
import torch

from grokscope.bench import plain_network
from grokscope.bench.entries import entries, origin_for
from grokscope.bench.every import entry_row
from grokscope.bench.fleet import first_step, loaded
from grokscope.bench.plain import PlainLoop, plain_networks
from grokscope.bench.plain.transformer import PlainTransformer
from grokscope.bench.verify import DifferentNetworkError, check_same_network, differences
from grokscope.config import Log, RunConfig
from grokscope.errors import ConfigError
from grokscope.models import models
from grokscope.models.lstm import LSTM
from grokscope.models.mlp import MLP
from grokscope.models.ticket_transformer import TicketTransformer
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.optim.lion import Lion
from grokscope.optim.sgd import SGD
from grokscope.priors.kl import KL
from grokscope.randomness import Key
from grokscope.tasks import tasks
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity

CPU = torch.device("cpu")
BASE = RunConfig(
    task=Modular(p=23, distractors=2, alphabet=3, train_fraction=0.97),  # 513 training examples: batches of 512 exist
    model=Transformer(d=8, d_mlp=16),
    optim=AdamW(lr=1e-2, warmup=2.0),
    prior=KL(beta=0.1),
    log=Log(every=5),
)
NARROW = {"d": 8, "d_mlp": 16, "hidden": 8, "width": 8}
FEW = {
    "k-addition": {"p": 4, "k": 3},
    "parity": {"n": 8, "k": 2, "train_fraction": 0.5},
    "ar-parity": {"n": 8, "k": 2, "train_fraction": 0.5},
    "permutation": {"n": 3, "train_fraction": 0.6},
    "polynomial": {"dimension": 5, "train_size": 20, "test_size": 10},
    "imdb": {"words": 9, "length": 6, "train_size": 18, "test_size": 9},
}


def narrowed(entry):
    """The entry at sizes that train in a blink."""
    config = entry.config
    fields = {f.name for f in dataclasses.fields(config.model)}
    heads = {"heads": 2} if getattr(config.model, "heads", 1) > 1 else {}
    model = replace(config.model, **{name: size for name, size in (NARROW | heads).items() if name in fields})
    task = config.task
    if task.kind in FEW and entry.name.startswith(("task=", "model=")):
        task = task if "split" in vars(task) else replace(task, **FEW[task.kind])
    if entry.name.startswith(("standard", "power", "tickets")):
        task = replace(task, p=23, train_fraction=0.97, pairs="all")
    return replace(config, model=model, task=task)


EVERY = [entry for entry in entries(BASE) if entry.name not in ("task=imdb", "task=mnist", "task=fashion-mnist")]


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)
def test_loss_and_gradients_are_those_of_the_fleet(entry):
    assert entry.problem == ""
    config = narrowed(entry)
    origin = origin_for(config)
    check_same_network(config, CPU, loaded(config, [0], CPU, origin), origin)
    stacked = loaded(config, [0, 1], CPU, origin)
    if not getattr(config.model, "dropout", 0):
        assert max(differences(PlainLoop(config, CPU, origin), first_step(stacked)).values()) < 1e-3


GATES = [f"model.attention={kind}" for kind in ("stg", "hard-concrete")]
RANDOM = ("prior=noise", "noise.", "model.dropout", *GATES)
REPEATABLE = [entry for entry in EVERY if not entry.name.startswith(RANDOM) and not entry.config.batch_size]


@pytest.mark.parametrize("entry", REPEATABLE, ids=lambda entry: entry.name)
def test_steps_are_those_of_the_fleet(entry):
    """Filter, clipping, learning rate, update, mask and projection included. A sign can flip where a gradient is rounding alone,
    so that steps are compared as a whole."""
    config = narrowed(entry)
    origin = origin_for(config)
    plain, program = PlainLoop(config, CPU, origin), loaded(config, [0], CPU, origin)
    start = program.flat.clone()
    for _ in range(3):
        plain.step()
        program.train_steps(1)
    expected = program.layout.join({name: plain.to_model(name, w.detach()) for name, w in plain.weights.items()})
    moved = (program.flat[0] - start[0]).norm()
    assert moved > 0
    assert (program.flat[0] - expected).norm() < 0.02 * moved


@pytest.mark.parametrize("optim", [SGD(momentum=0.9), Lion(), AdamW(warmup=2.0)], ids=lambda optim: optim.kind)
@pytest.mark.parametrize("name", GATES)
def test_gates_move_as_in_the_fleet_by_the_same_draws(name, optim, monkeypatch):
    config = replace(next(entry for entry in EVERY if entry.name == name).config, optim=optim)
    seed = torch.tensor(config.seed_for("order"))
    monkeypatch.setattr(PlainLoop, "_draws", lambda self: Key(seed, torch.tensor(self.steps)))
    plain, program = PlainLoop(config, CPU), loaded(config, [0], CPU)
    start = program.weights["gate"][0].detach().clone()
    for _ in range(3):
        plain.step()
        program.train_steps(1)
    assert (start != program.weights["gate"][0]).all()
    for weight, own in plain.weights.items():
        torch.testing.assert_close(program.weights[weight][0], plain.to_model(weight, own), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scores", [{}, {"decay": 3.0, "rank_by": "magnitude"}], ids=["no decay", "decay"])
@pytest.mark.parametrize("optim", [SGD(momentum=0.9), Lion(), AdamW()], ids=lambda optim: optim.kind)
def test_edge_popup_trains_scores_at_their_own_rate(optim, scores):
    entry = next(entry for entry in EVERY if entry.name == "ticket=edge-popup")
    config = replace(entry.config, optim=optim, ticket=replace(entry.config.ticket, weights="trained", **scores))
    origin = origin_for(config)
    plain, program = PlainLoop(config, CPU, origin), loaded(config, [0], CPU, origin)
    plain.step()
    program.train_steps(1)
    expected = program.layout.join({name: plain.to_model(name, w.detach()) for name, w in plain.weights.items()})
    torch.testing.assert_close(program.flat[0], expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "imdb"])
def test_tasks_without_data_are_timed_on_random_examples(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks.get(name), "usual_folder", lambda self: None)
    entry = next(entry for entry in entries(BASE) if entry.name == f"task={name}")
    assert entry.problem == "" and len(entry.config.task.split(0).train.labels) == entry.config.task.shape.train_size
    if name == "imdb":
        assert isinstance(entry.config.model, LSTM)


@pytest.mark.parametrize("padding", [None, 0])
def test_padding_in_front_leaves_the_lstm_unchanged(padding, on_disk):
    task = tasks.get("imdb")(**on_disk["imdb"])
    assert (task.split(0).train.inputs[:, 0] == 0).any()
    check_same_network(RunConfig(task=task, model=LSTM(d=4, hidden=5, padding=padding)), CPU)


def test_every_model_has_a_plain_network():
    assert plain_networks.entries().keys() == models.entries().keys()


def test_other_models_are_trained_through_their_own_forward():
    """A subclass, or a setting that the plain network was not written for."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Doubled(Transformer):
        def forward(self, *args, **how):
            out = super().forward(*args, **how)
            return out.replace(logits=2 * out.logits)

    model = Doubled(d=8, d_mlp=16)
    assert plain_network(model, BASE.task.shape).label == "model.forward"
    check_same_network(replace(BASE, model=model), CPU)
    assert plain_network(MLP(width=3), tasks.get("polynomial")().shape).label == "nn.Module"


def test_unknown_settings_are_not_ignored(monkeypatch):
    monkeypatch.setattr(PlainTransformer, "SETTINGS", PlainTransformer.SETTINGS - {"norm"})
    assert plain_network(Transformer(), BASE.task.shape).label == "nn.Module"
    assert plain_network(Transformer(norm="mlp"), BASE.task.shape).label == "model.forward"


@pytest.mark.parametrize("weight", ["embed.weight", "blocks.0.query.weight", "unembed.weight"])
def test_a_plain_network_with_another_weight_is_refused(monkeypatch, weight):
    whole = PlainTransformer.forward

    def broken(self, tokens, frozen=None):
        with torch.no_grad():
            self.get_parameter(weight)[0, 0] += 0.5
        return whole(self, tokens, frozen)

    monkeypatch.setattr(PlainTransformer, "forward", broken)
    with pytest.raises(DifferentNetworkError, match="so their speeds are not compared"):
        check_same_network(BASE, CPU)
    row = entry_row(EVERY[0], 1, CPU, 0.01, 1e9)
    assert row["ratio"] is row["run_steps_per_s"] is None
    assert "so their speeds are not compared" in row["note"]


def test_nan_is_a_difference(monkeypatch):
    monkeypatch.setattr(KL, "penalty", lambda self, out, target, key: torch.tensor(float("nan")))
    with pytest.raises(DifferentNetworkError):
        check_same_network(BASE, CPU)


def test_evaluation_of_the_plain_loop_changes_nothing():
    loop = PlainLoop(BASE, CPU)
    before = [weight.detach().clone() for weight in loop.trained]
    loop.evaluate()
    assert all(torch.equal(a, b) for a, b in zip(before, loop.trained, strict=True))


OTHER_PARTS = {
    "no positions, no biases": (
        TicketTransformer(d=8, d_mlp=16, positions=False, biases=False),
        Modular(p=7, distractors=0),
    ),
    "widths": (MLP(widths=(5, 3, 9), biases=False), Parity(n=6, k=2, form="signs")),
}


@pytest.mark.parametrize("name", OTHER_PARTS)
def test_models_with_other_parts_have_plain_networks_too(name):
    model, task = OTHER_PARTS[name]
    config = replace(BASE, model=model, task=task, prior=KL(beta=0.0)).check()
    assert plain_networks.get(model.kind).supports(model)
    check_same_network(config, CPU, loaded(config, [0], CPU, None), None)


@pytest.mark.parametrize(
    ("settings", "field"), [({"do": {"kind": "gradient"}}, "do"), ({"branch": {"run": "abc"}}, "branch.run")]
)
def test_interventions_are_not_timed(settings, field):
    with pytest.raises(ConfigError, match=f"^{field}: a plain loop has no interventions"):
        PlainLoop(RunConfig.from_dict(settings), torch.device("cpu"))
