"""One battery over every registry entry: it trains in a fleet as it does alone, leaves its neighbours be, and is described."""

import dataclasses
from dataclasses import replace

import pytest
import torch

from grokscope.config import COMPONENTS, Log, RunConfig
from grokscope.describe import entry, field_docs
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.interventions import Branch
from grokscope.measures import measures
from grokscope.models.mlp import MLP
from grokscope.models.transformer import Transformer
from grokscope.optim import losses
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.randomness import stream
from grokscope.tasks import tasks
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from grokscope.tasks.polynomial import Polynomial
from grokscope.tickets import Origin
from grokscope.tickets.base import FromRun, Pruned
from grokscope.tickets.initial import Random

BASE = RunConfig(
    task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
    model=Transformer(d=8, d_mlp=16),
    optim=AdamW(lr=1e-2),
    prior=KL(beta=0.1),
    log=Log(every=5),
)

SMALL = {
    "modular": {"p": 7},
    "k-addition": {"p": 4, "k": 3},
    "parity": {"n": 6, "k": 2, "train_fraction": 0.5},
    "ar-parity": {"n": 6, "k": 2, "train_fraction": 0.5},
    "permutation": {"n": 3, "train_fraction": 0.6},
    "polynomial": {"dimension": 5, "train_size": 20, "test_size": 10},
}
"""Sizes at which a task trains in a blink; a task without an entry trains at its default size."""

NARROW = {"d": 8, "d_mlp": 16, "hidden": 8, "width": 8}
"""Sizes at which a model trains in a blink, where it has such a setting."""

READABLE = (BASE.task, Parity(n=6, k=2, train_fraction=0.5, form="signs"), Polynomial(**SMALL["polynomial"]))
"""Tasks of tokens, of vectors and of real answers: a model trains on the first one that it can read."""


@pytest.fixture(scope="module", autouse=True)
def files(on_disk):
    """Tasks that read files have some."""
    SMALL.update(on_disk)


def config_with(component, kind):
    if component == "loss":
        return replace(BASE, loss=kind)
    if component == "task":
        return fitting(tasks.get(kind)(**SMALL.get(kind, {})))
    if component == "ticket":
        cls = COMPONENTS[component].get(kind)
        return replace(BASE, ticket=cls(run="teacher") if issubclass(cls, FromRun) else cls())
    if component == "do":
        cls = COMPONENTS[component].get(kind)
        settings = {"run": "donor"} if "run" in _fields(cls) else {}
        return replace(BASE, do=cls(**settings), branch=Branch(run="parent"))
    if component == "model":
        cls = COMPONENTS[component].get(kind)
        model = cls(**{name: size for name, size in NARROW.items() if name in _fields(cls)})
        return fitting(next(task for task in READABLE if _reads(model, task)), model)
    settings = {"beta": 0.5} if component == "prior" else {"lr": 1e-2} if component == "optim" else {}
    return replace(BASE, **{component: COMPONENTS[component].get(kind)(**settings)})


def fitting(task, model=None):
    """The base run with another task or model, and what goes with them."""
    shape = task.shape
    if model is None:
        scope = "causal" if shape.every_position else "query"
        model = MLP(depth=2, width=8) if shape.features else replace(BASE.model, scope=scope)
    guided = model.has_attention and task.knows_informative
    prior = BASE.prior if guided else replace(BASE.prior, beta=0.0)
    return replace(BASE, task=task, model=model, prior=prior, loss="mse" if shape.regression else BASE.loss)


def _reads(model, task):
    try:
        model.check_task(task.shape)
    except ConfigError:
        return False
    return True


def _fields(cls):
    return {f.name for f in dataclasses.fields(cls)}


EVERY = [(component, kind) for component in COMPONENTS for kind in COMPONENTS[component].entries()] + [
    ("loss", kind) for kind in losses.entries()
]

AT_THE_START = [
    kind
    for kind, cls in COMPONENTS["ticket"].entries().items()
    if issubclass(cls, Pruned) and not issubclass(cls, FromRun)
]
"""Tickets that prune before training, with no trained run to come from."""


def origin_for(config):
    """A trained run that tickets may come from."""
    start, trained = (config.model.init(config.task.shape, stream(config.seed, name)) for name in ("start", "trained"))
    return Origin(start, trained, {name: weight > 0 for name, weight in trained.items()})


def trained(configs, epochs=10):
    program = Program(configs[0], len(configs), torch.device("cpu"))
    for lane, config in enumerate(configs):
        origin = origin_for(config) if isinstance(config.ticket, FromRun) else None
        program.load(lane, config.check(), lane_data(config), origin=origin)
    for _ in range(epochs):
        program.train_epoch()
    return program


@pytest.mark.parametrize(("component", "kind"), EVERY)
def test_a_lane_equals_the_run_alone(component, kind):
    config = config_with(component, kind)
    together = trained([config, replace(config, seed=1)])
    for lane, seed in enumerate((0, 1)):
        alone = trained([replace(config, seed=seed)])
        torch.testing.assert_close(together.flat[lane], alone.flat[0], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(("component", "kind"), EVERY)
def test_neighbours_stay_apart_and_training_moves_the_weights(component, kind):
    config = config_with(component, kind)
    start = trained([config, replace(config, seed=1)], epochs=0).flat.clone()
    one = trained([config, replace(config, seed=1)])
    other = trained([config, replace(config, seed=2, optim=replace(config.optim, lr=0.1))])
    assert torch.equal(one.flat[0], other.flat[0])
    assert not torch.equal(one.flat[1], other.flat[1])
    assert not torch.equal(one.flat, start)
    table = one.evaluate()
    assert all(value == value for values in table.values() for value in values), "a measure is NaN"


@pytest.mark.parametrize(("component", "kind"), EVERY)
def test_a_run_continues_from_what_a_lane_saves(component, kind):
    """Weights, state of optimizer and filter, mask: with the same bits, in another lane beside another run."""
    config, neighbour, other = (replace(config_with(component, kind), seed=seed) for seed in (0, 1, 2))
    straight, first = trained([config, neighbour], epochs=8), trained([neighbour, config], epochs=5)
    second = trained([other, neighbour], epochs=0)
    second.load(0, config.check(), lane_data(config), saved=first.unload(1))
    for _ in range(3):
        second.train_epoch()
    assert torch.equal(second.flat[0], straight.flat[0])


@pytest.mark.parametrize("kind", list(COMPONENTS["optim"].entries()))
@pytest.mark.parametrize("filter", list(COMPONENTS["filter"].entries()))
def test_pruned_weights_stay_zero(kind, filter):
    config = replace(config_with("optim", kind), filter=COMPONENTS["filter"].get(filter)())
    config = replace(config, ticket=Random(rate=0.4))
    before, after = (trained([config, replace(config, seed=1)], epochs=epochs) for epochs in (0, 5))
    pruned = before.flat == 0
    assert abs(pruned.float().mean() - 0.4) < 0.01
    assert (after.flat[pruned] == 0).all()
    assert (after.flat[~pruned] != 0).float().mean() > 0.9
    assert not torch.equal(before.mask[0], before.mask[1])


@pytest.mark.parametrize("model", list(COMPONENTS["model"].entries()))
@pytest.mark.parametrize("kind", AT_THE_START)
def test_every_model_can_be_pruned_before_it_trains(kind, model):
    config = config_with("model", model)
    program = trained([replace(config, ticket=COMPONENTS["ticket"].get(kind)(rate=0.5))], epochs=1)
    prunable = [name for name, p in program.layout.parameters.items() if p.role != "bias"]
    weights = torch.cat([weight.flatten() for name, weight in program.weights.items() if name in prunable])
    assert weights.isfinite().all()
    assert (weights == 0).float().mean().item() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("component", "kind"), [(r, k) for r, k in EVERY if r != "loss"])
def test_it_is_described(component, kind):
    cls = COMPONENTS[component].get(kind)
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(")
    missing = _fields(cls) - set(field_docs(cls))
    assert not missing, f"fields without a docstring: {missing}"
    described = [s["name"] for s in entry(kind, cls)["settings"] if "." not in s["name"]]
    assert described == [f.name for f in dataclasses.fields(cls)]


@pytest.mark.parametrize(("component", "kind"), [(r, k) for r, k in EVERY if r != "loss"])
def test_lane_fields_exist_and_are_numbers(component, kind):
    cls = COMPONENTS[component].get(kind)
    assert set(cls.LANES) | set(cls.HOST) <= _fields(cls)
    assert all(isinstance(value, float) for value in cls().lane_values().values())
    assert not set(cls().structure()) & (set(cls.LANES) | set(cls.HOST))


@pytest.mark.parametrize("kind", list(COMPONENTS["model"].entries()))
def test_a_model_is_the_same_in_every_lane(kind):
    """A program builds its model from the settings of one run: numbers of each lane would be ignored."""
    assert COMPONENTS["model"].get(kind)().lane_values() == {}


@pytest.mark.parametrize("name", list(losses.entries()) + list(measures.entries()))
def test_functions_are_described(name):
    registry = losses if name in losses.entries() else measures
    assert entry(name, registry.get(name))["about"]
