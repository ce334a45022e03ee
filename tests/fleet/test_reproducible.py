"""On a CPU a run has the same bits alone and in company, with any number of threads and workers, and after any kill.

The promise is that of docs/reproducibility.md, checked on the machine at hand.
"""

import dataclasses
import functools
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grokscope.config import COMPONENTS, Log, RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet import Fleet, Job
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.launch.scheduler import Group, Scheduler
from grokscope.models.mlp import MLP
from grokscope.models.transformer import Transformer
from grokscope.ops import readout_eval, readout_loss
from grokscope.ops.team import team_of
from grokscope.optim.adamw import AdamW
from grokscope.optim.filters import GrokfastEMA
from grokscope.optim.lion import Lion
from grokscope.optim.muon import Muon
from grokscope.optim.noise import Noise
from grokscope.priors import Constraints
from grokscope.priors.kl import KL
from grokscope.priors.noise import Noise as NoisePrior
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from grokscope.tasks.polynomial import Polynomial
from grokscope.tickets.initial import Random

pytestmark = pytest.mark.matrix

CPU = torch.device("cpu")
BASE = RunConfig(
    task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
    model=Transformer(d=16, d_mlp=24),
    optim=AdamW(lr=1e-2),
    prior=KL(beta=0.1),
    epochs=6,
    log=Log(every=2),
)
KINDS = {
    "fused": BASE,
    "causal": replace(BASE, model=Transformer(d=16, d_mlp=24, scope="causal", heads=2)),
    "cosine": replace(BASE, optim=AdamW(lr=1e-2, schedule="cosine", warmup=2.0)),
    "muon": replace(BASE, optim=Muon()),
    "lion, filtered, pruned": replace(BASE, optim=Lion(lr=1e-3), filter=GrokfastEMA(), ticket=Random(rate=0.3)),
    "mini-batches": replace(BASE, batch_size=7),
    "weight noise": replace(BASE, noise=Noise(weights=0.05)),
    "label noise": replace(BASE, noise=Noise(labels=0.3, redraw="every-step"), batch_size=9),
    "gates": replace(BASE, model=Transformer(d=16, d_mlp=24, attention="stg"), prior=KL(beta=0.0)),
    "gates in two layers": replace(
        BASE, model=Transformer(d=16, d_mlp=24, layers=2, scope="causal", attention="hard-concrete"), batch_size=7
    ),
    "random prior": replace(BASE, prior=NoisePrior(beta=0.3), constraint=Constraints(norm=3.0)),
}
FULL = (readout_loss._BLOCK, readout_eval._BLOCK)
few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@contextmanager
def threads_outside(number):
    """A process that has set its own number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """So that the 29 training examples are several blocks."""
    with mock.patch.object(readout_loss, "_BLOCK", 8), mock.patch.object(readout_eval, "_BLOCK", 8):
        yield


def same(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


def measured(rows):
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


def loaded(config, saved=None):
    program = Program(config, 1, CPU)
    program.load(0, config, lane_data(config), saved)
    return program


def trained(config, epochs, kills=()):
    """State and measures after some epochs; after each epoch of `kills`, another program goes on from what was saved."""
    program = loaded(config)
    for epoch in range(epochs):
        if epoch in kills:
            program = loaded(config, program.unload(0))
        program.train_epoch()
    return program.unload(0), program.evaluate()


# ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
@few
@given(st.integers(1, 4), st.integers(1, 2), st.sets(st.integers(0, 5)))
def test_threads_and_kills_do_not_matter(kind, threads, outside, kills):
    config = KINDS[kind]
    with team_of(1) as team, team.member():
        state, table = trained(config, 6)
    with threads_outside(outside), team_of(threads) as team, team.member():
        other_state, other_table = trained(config, 6, kills)
    assert same(state, other_state)
    assert table == other_table


def test_the_default_run_does_not_depend_on_threads():
    """At its own size, in blocks of their own size."""
    found = []
    with mock.patch.object(readout_loss, "_BLOCK", FULL[0]), mock.patch.object(readout_eval, "_BLOCK", FULL[1]):
        for threads in (1, 2, 3):
            with threads_outside(2), team_of(threads) as team, team.member():
                found.append(trained(RunConfig(), 2))
    for state, table in found[1:]:
        assert same(state, found[0][0])
        assert table == found[0][1]


# ── many runs ────────────────────────────────────────────────────────────────────────────────────────────────


def run_alone(config, memory, stop_at=None):
    """The sink of a run that trains by itself, to its end or until it is interrupted before epoch `stop_at`."""
    calls = iter(range(1_000_000))
    job = Job(config=config, sink=memory())
    with team_of(1) as team, team.member():
        Fleet([job], lanes=1, device=CPU, interrupted=lambda: next(calls) == stop_at).run()
    return job.sink


def run_together(jobs, workers, cores=2):
    Scheduler([Group(waiting=deque(jobs), lanes=1)], workers=workers, cores=cores, device=CPU).run()


COMPANY = [
    BASE,
    replace(BASE, seed=1, epochs=4),
    replace(BASE, task=Modular(p=5, distractors=1, alphabet=2)),
    replace(BASE, optim=Muon(), batch_size=5, epochs=5),
    replace(BASE, model=Transformer(d=16, d_mlp=24, attention="stg"), epochs=5),
]


@functools.cache
def alone(number, memory):
    """A run of COMPANY by itself."""
    return run_alone(COMPANY[number], memory)


@few
@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 2),
    st.permutations(range(len(COMPANY))).flatmap(lambda order: st.integers(1, len(order)).map(lambda n: order[:n])),
)
def test_company_order_and_workers_do_not_matter(memory, workers, cores, outside, order):
    jobs = [Job(config=COMPANY[number], sink=memory()) for number in order]
    with threads_outside(outside):
        run_together(jobs, workers, cores)
    for number, job in zip(order, jobs, strict=True):
        assert same(job.sink.saved[2], alone(number, memory).saved[2])
        assert measured(job.sink.rows) == measured(alone(number, memory).rows)


# ── every model ──────────────────────────────────────────────────────────────────────────────────────────────

NARROW = {"d": 8, "d_mlp": 16, "hidden": 8, "width": 8}
READABLE = (
    BASE.task,
    Parity(n=6, k=2, train_fraction=0.5, form="signs"),
    Polynomial(dimension=5, train_size=20, test_size=10),
)
"""Tasks of tokens, of vectors and of real answers: a model trains on the first one that it can read."""
RANDOMNESS = {
    "none": {},
    "mini-batches": {"batch_size": 7},
    "weight noise": {"noise": Noise(weights=0.05)},
    "wrong labels": {"noise": Noise(labels=0.3)},
    "wrong labels at every step": {"noise": Noise(labels=0.3, redraw="every-step")},
    "dropout": {},
    "all": {"batch_size": 7, "noise": Noise(weights=0.02, labels=0.2, redraw="every-step")},
}
"""What is random in training; dropout, and all of it, where a model has it."""
DROPOUT = ("dropout", "all")


def fields(cls):
    return {field.name for field in dataclasses.fields(cls)}


def reads(model, task):
    try:
        model.check_task(task.shape)
    except ConfigError:
        return False
    return True


def config_of(kind, randomness):
    cls = COMPONENTS["model"].get(kind)
    sizes = {name: size for name, size in NARROW.items() if name in fields(cls)}
    dropout = {"dropout": 0.3} if randomness in DROPOUT and "dropout" in fields(cls) else {}
    model = cls(**sizes, **dropout)
    task = next(task for task in READABLE if reads(model, task))
    prior = BASE.prior if model.has_attention and task.knows_informative else replace(BASE.prior, beta=0.0)
    settings = dict(RANDOMNESS[randomness])
    if task.shape.regression:
        settings |= {"loss": "mse", "noise": Noise(weights=getattr(settings.get("noise"), "weights", 0.0))}
    return replace(BASE, task=task, model=model, prior=prior, **settings).check()


MODELS = [
    (kind, randomness)
    for kind, cls in COMPONENTS["model"].entries().items()
    for randomness in RANDOMNESS
    if randomness != "dropout" or "dropout" in fields(cls)
]


@pytest.mark.parametrize(("kind", "randomness"), MODELS)
def test_every_model_alone_and_after_a_kill_in_company(kind, randomness, memory):
    config = config_of(kind, randomness)
    other = replace(config, seed=1)
    whole = run_alone(config, memory)
    killed = run_alone(config, memory, stop_at=3)
    assert killed.saves[-1][:2] == (3, "stopped")
    rest = Job(config=config, sink=memory(killed.saved))
    beside = [Job(config=c, sink=memory()) for c in (other, replace(BASE, seed=7))]
    with threads_outside(2):
        run_together([beside[0], rest, beside[1]], workers=2, cores=3)
    assert same(rest.sink.saved[2], whole.saved[2])
    assert measured(killed.rows + rest.sink.rows) == measured(whole.rows)
    assert not same(beside[0].sink.saved[2], whole.saved[2])


def test_a_model_of_vectors_is_among_them():
    """The pairing above finds tasks for models of both kinds of input."""
    assert isinstance(config_of("mlp", "none").model, MLP)
    assert config_of("mlp", "none").task.shape.features
    assert not config_of("transformer", "none").task.shape.features
