"""Stored runs made by hand: the probes read them as they read real ones."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.models import Output
from grokscope.models.base import Neurons
from grokscope.models.transformer import Transformer
from grokscope.run import Network, StoredRun
from grokscope.store import RunInfo
from grokscope.tasks.modular import Modular


@dataclass(frozen=True, kw_only=True)
class WithNeurons(Transformer):
    """What a neuron reads through the embedding and writes through the unembedding, attention left out."""

    kind = "with-neurons"
    shown: bool = True

    def neurons(self, weights):
        if not self.shown:
            return None
        return Neurons((weights["W_E"] @ weights["W_in"]).T, weights["W_out"] @ weights["W_U"])


@dataclass(frozen=True)
class Made(StoredRun):
    """A run whose checkpoints are given; `answer` stands in for the model's forward pass."""

    info: RunInfo = field(default_factory=lambda: RunInfo(id="made", path=Path("nowhere"), status="done"))
    config: RunConfig = field(default_factory=RunConfig)
    checkpoints: dict = field(default_factory=dict)
    answer: object = None

    @property
    def epochs(self):
        return sorted(self.checkpoints)

    def network(self, epoch=None):
        weights = self.checkpoints[max(self.checkpoints) if epoch is None else epoch]
        return Answering(config=self.config, weights=weights, answer=self.answer)


@dataclass(frozen=True, kw_only=True)
class Answering(Network):
    answer: object = None

    def __call__(self, examples, **how):
        return super().__call__(examples, **how) if self.answer is None else Output(self.answer(examples.inputs))


@pytest.fixture
def made():
    def make(*, p=11, op="+", distractors=0, neurons=True, epochs=(10, 20), answer=None, **weights):
        model = WithNeurons(d=6, d_mlp=4, shown=neurons)
        task = Modular(p=p, op=op, distractors=distractors, train_fraction=0.5)
        config = RunConfig(task=task, model=model)
        start = {
            n: torch.randn(q.shape, generator=torch.Generator().manual_seed(1))
            for n, q in model.parameters(task.shape).items()
        }
        return Made(config=config, checkpoints=dict.fromkeys(epochs, start | weights), answer=answer)

    return make


@pytest.fixture
def wave():
    def cosine(p, frequency, phase=0.0):
        return torch.cos(2 * torch.pi * frequency * torch.arange(p) / p + phase)

    return cosine
