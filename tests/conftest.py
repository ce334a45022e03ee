"""Shapes are checked at every call, one thread a worker, and hypothesis does not time anything."""

import os

os.environ.setdefault("GROKSCOPE_CHECK_SHAPES", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("grokscope", deadline=None)
settings.load_profile("grokscope")


@pytest.fixture
def tiny():
    """A run small enough to train hundreds of epochs in a second."""
    from grokscope.config import Log, RunConfig
    from grokscope.models.transformer import Transformer
    from grokscope.optim.adamw import AdamW
    from grokscope.priors.kl import KL
    from grokscope.tasks.modular import Modular

    return RunConfig(
        task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
        model=Transformer(d=8, d_mlp=16),
        optim=AdamW(lr=1e-2),
        prior=KL(beta=0.1),
        epochs=12,
        log=Log(every=5),
    )


class Memory:
    """A sink that keeps everything in memory."""

    def __init__(self, saved=None):
        self.saved = saved
        self.rows, self.saves, self.closed = [], [], False

    def resume(self):
        return self.saved

    def save(self, *, epoch, rows, tensors, metadata, status, keep):
        self.rows += rows
        self.saves.append((epoch, status, keep))
        self.saved = (epoch, metadata, tensors)

    def close(self):
        self.closed = True

    @property
    def status(self):
        return self.saves[-1][1]


@pytest.fixture
def memory():
    return Memory


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder: exit code, stdout, stderr."""
    import sys

    from grokscope.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["grokscope", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        return stop.value.code, out.out, out.err

    return call
