"""Global randomness inside a run is refused in one line that names the operation or the library, wherever it is drawn."""

import itertools
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.fleet import Fleet, Job
from grokscope.fleet.data import lane_data
from grokscope.fleet.guard import AT_START, IN_STEPS, check_global_states, global_states, no_global_randomness
from grokscope.fleet.program import Program
from grokscope.measures import measures
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")

SOURCES = {
    "torch.rand": (lambda: torch.rand(()), "rand draws from PyTorch's global generator"),
    "torch.randn_like": (lambda: torch.randn_like(torch.zeros(3)).sum(), "randn_like draws from PyTorch's global"),
    "Tensor.bernoulli_": (lambda: torch.zeros(3).bernoulli_().sum(), "bernoulli_ draws from PyTorch's global"),
    "dropout": (lambda: torch.nn.functional.dropout(torch.ones(3)).sum(), "draws from PyTorch's global generator"),
    "numpy": (lambda: torch.tensor(np.random.rand()), "the run drew from the global generator of NumPy"),
    "random": (lambda: torch.tensor(random.random()), "the run drew from the global generator of Python"),
}


@dataclass(frozen=True, kw_only=True)
class NoisyModel(Transformer):
    source: str = "torch.rand"

    def forward(self, weights, inputs, **how):
        out = super().forward(weights, inputs, **how)
        return out.replace(logits=out.logits + SOURCES[self.source][0]() * 1e-3)


@dataclass(frozen=True, kw_only=True)
class NoisyStart(Transformer):
    source: str = "torch.rand"

    def init(self, shape, generator):
        return {name: w + SOURCES[self.source][0]() for name, w in super().init(shape, generator).items()}


@dataclass(frozen=True, kw_only=True)
class NoisyOptimizer(AdamW):
    source: str = "torch.rand"

    def update(self, weight, grad, state, **how):
        return super().update(weight, grad + SOURCES[self.source][0](), state, **how)


@dataclass(frozen=True, kw_only=True)
class NoisyPrior(KL):
    source: str = "torch.rand"

    def penalty(self, out, target, key):
        return super().penalty(out, target, key) * SOURCES[self.source][0]()

    def constant_gradient(self, target):
        return None


@dataclass(frozen=True, kw_only=True)
class NoisyTask(Modular):
    source: str = "torch.rand"

    def split(self, seed):
        assert SOURCES[self.source][0]() is not None
        return super().split(seed)


SIZES = {"d": 8, "d_mlp": 16}
PLACES = {
    "model": lambda base, source: replace(base, model=NoisyModel(**SIZES, source=source)),
    "optimizer": lambda base, source: replace(base, optim=NoisyOptimizer(source=source)),
    "prior": lambda base, source: replace(base, prior=NoisyPrior(beta=0.5, source=source)),
}
STARTS = {
    "task": lambda base, source: replace(base, task=NoisyTask(p=7, distractors=2, source=source)),
    "initial weights": lambda base, source: replace(base, model=NoisyStart(**SIZES, source=source)),
}


@pytest.fixture(autouse=True)
def generators_as_they_were():
    """What is refused has been drawn already."""
    before = torch.random.get_rng_state(), np.random.get_state(), random.getstate()
    yield
    torch.random.set_rng_state(before[0])
    np.random.set_state(before[1])
    random.setstate(before[2])


def refused(config, memory, lanes=1):
    """What is raised when the run is trained, and where it was saved."""
    jobs = [Job(config=replace(config, seed=seed), sink=memory()) for seed in range(lanes)]
    with pytest.raises(ConfigError) as error:
        Fleet(jobs, lanes=lanes, device=CPU).run()
    return str(error.value), jobs[0].sink


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("place", PLACES)
def test_in_a_step(tiny, memory, place, source):
    line, sink = refused(PLACES[place](tiny, source), memory)
    assert line.startswith("randomness: ")
    assert SOURCES[source][1] in line
    assert line.endswith(IN_STEPS)
    assert "\n" not in line
    assert sink.closed


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("place", STARTS)
def test_in_data_and_initial_weights(tiny, memory, place, source):
    line, sink = refused(STARTS[place](tiny, source), memory)
    assert line.startswith("randomness: ")
    assert "draws from PyTorch" in SOURCES[source][1] or SOURCES[source][1] in line
    assert "the run drew from the global generator of" in line
    assert line.endswith(AT_START)
    assert sink.saved is None


@pytest.mark.parametrize("source", SOURCES)
def test_in_a_measure(tiny, memory, monkeypatch, source):
    drawing = {"drawing": lambda view: {"drawn": view.train.accuracy + SOURCES[source][0]()}}
    monkeypatch.setattr(measures, "_entries", measures.entries() | drawing)
    line, _ = refused(tiny, memory)
    assert SOURCES[source][1] in line
    assert line.endswith(IN_STEPS)


def test_in_stacked_runs(tiny, memory):
    """vmap sees it before the guard does, and does not name the operation."""
    line, _ = refused(replace(tiny, model=NoisyModel(**SIZES)), memory, lanes=2)
    assert line.startswith("randomness: an operation draws from PyTorch's global generator; ")


def test_in_a_later_step(tiny, memory):
    """The first step is watched closely; of later ones it is seen that the generator has moved."""

    calls = itertools.count()

    class Later(NoisyModel):
        def forward(self, weights, inputs, **how):
            of = NoisyModel if next(calls) > 12 else Transformer
            return of.forward(self, weights, inputs, **how)

    line, _ = refused(replace(tiny, model=Later(**SIZES), epochs=100), memory)
    assert line == f"randomness: the run drew from the global generator of PyTorch; {IN_STEPS}"


def test_randomness_that_is_an_argument_is_allowed(tiny, memory):
    @dataclass(frozen=True, kw_only=True)
    class Keyed(Transformer):
        def forward(self, weights, inputs, *, key=None, training=False, **how):
            out = super().forward(weights, inputs, key=key, training=training, **how)
            generator = torch.Generator().manual_seed(3)
            drawn = key.uniform("mine", ()) if training else torch.rand((), generator=generator)
            return out.replace(logits=out.logits * (1 + 0.01 * drawn))

    job = Job(config=replace(tiny, model=Keyed(**SIZES)), sink=memory())
    Fleet([job], lanes=1, device=CPU).run()
    assert job.sink.status == "done"


def test_randomness_outside_a_run_is_nobodys_business(tiny, memory):
    class Drawing:
        def update(self, lanes, waiting):
            torch.rand(3), np.random.rand(), random.random()

    job = Job(config=tiny, sink=memory())
    Fleet([job], lanes=1, device=CPU, progress=Drawing()).run()
    assert job.sink.status == "done"


def test_other_errors_of_a_step_are_passed_on():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), no_global_randomness():
        torch.rand(2, 3, generator=torch.Generator()) @ torch.rand(2, 3, generator=torch.Generator())


@pytest.mark.parametrize("generator", [np.random.MT19937(0), np.random.PCG64(0)])
def test_a_draw_from_any_global_generator_of_numpy_is_seen(generator):
    usual = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(generator)
        before = global_states()
        check_global_states(before)
        np.random.random()
        with pytest.raises(ConfigError, match="the global generator of NumPy"):
            check_global_states(before)
        for _ in range(700):  # past the words of one state
            before = global_states()
            np.random.random()
            assert global_states()["NumPy"] != before["NumPy"]
    finally:
        np.random.set_bit_generator(usual)


def test_training_moves_no_global_generator(tiny):
    before = global_states()
    program = Program(tiny, 1, CPU)
    program.load(0, tiny, lane_data(tiny))
    program.train_epoch()
    program.evaluate()
    check_global_states(before)
