"""On a GPU the same group of runs gives the same bits again; with other lanes the numbers are close, not equal.

The promise is that of docs/reproducibility.md, checked on the device at hand.
"""

from collections import deque
from dataclasses import replace

import pytest
import torch

from grokscope.config import Log, RunConfig
from grokscope.fleet import Job, engine
from grokscope.launch.local import train
from grokscope.launch.plan import pack
from grokscope.launch.scheduler import Group, Scheduler
from grokscope.models.transformer import Transformer
from grokscope.ops.blas import numerics
from grokscope.optim.adamw import AdamW
from grokscope.optim.muon import Muon
from grokscope.optim.noise import Noise
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular

pytestmark = [
    pytest.mark.matrix,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA device here"),
]

DEVICE = torch.device("cuda")
BASE = RunConfig(
    task=Modular(p=11, distractors=2, alphabet=4, train_fraction=0.6),
    model=Transformer(d=32, d_mlp=64),
    optim=AdamW(lr=1e-2),
    prior=KL(beta=0.1),
    epochs=12,
    log=Log(every=3),
    precision="float32",
)
KINDS = {
    "float32": BASE,
    "tf32": replace(BASE, precision="tf32"),
    "bf16": replace(BASE, precision="bf16"),
    "causal, two heads": replace(BASE, model=Transformer(d=32, d_mlp=64, scope="causal", heads=2), precision="tf32"),
    "muon": replace(BASE, optim=Muon()),
    "mini-batches and noise": replace(
        BASE, batch_size=16, noise=Noise(weights=0.02, labels=0.2, redraw="every-step"), precision="tf32"
    ),
}
CLOSE = {"float32": 1e-4, "tf32": 1e-2, "bf16": 5e-2}
"""‖difference‖ / ‖weights‖ that rounding may have grown to after ten steps."""


def group_of(config):
    """Five seeds that end at different epochs: lanes are refilled, then given up."""
    return [replace(config, seed=seed, epochs=epochs) for seed, epochs in enumerate((12, 6, 9, 12, 6))]


def train_group(configs, memory, lanes, workers=1):
    jobs = [Job(config=config, sink=memory()) for config in configs]
    groups = [Group(waiting=deque(group), lanes=lanes) for group in pack((job.config, job) for job in jobs)]
    Scheduler(groups, workers=workers, cores=1, device=DEVICE).run()
    assert {job.sink.status for job in jobs} <= {"done", "grokked"}
    return [job.sink for job in jobs]


def assert_same_bits(first, again):
    for a, b in zip(first, again, strict=True):
        assert a.saved[2].keys() == b.saved[2].keys()
        for name in a.saved[2]:
            assert torch.equal(a.saved[2][name], b.saved[2][name]), name
        for row, other in zip(a.rows, b.rows, strict=True):
            assert all(row[name] == other[name] for name in row if "seconds" not in name)


def weights_of(sink):
    return torch.cat([tensor.flatten() for name, tensor in sink.saved[2].items() if name.startswith("weight/")])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_group_gives_the_same_bits_again(kind, memory, monkeypatch):
    monkeypatch.setattr(engine, "_idle_limit", lambda lanes: 0.0)  # idle lanes are given up at once
    first, again = (train_group(group_of(KINDS[kind]), memory, lanes=3) for _ in range(2))
    assert_same_bits(first, again)


def test_groups_side_by_side_give_the_same_bits_again(memory):
    """Two fleets, each on a stream of its own."""
    configs = [*group_of(KINDS["tf32"]), *group_of(KINDS["causal, two heads"])]
    first, again = (train_group(configs, memory, lanes=3, workers=2) for _ in range(2))
    assert_same_bits(first, again)


@pytest.mark.parametrize("precision", CLOSE)
def test_other_numbers_of_lanes_give_close_numbers(precision, memory):
    configs = [replace(KINDS[precision], seed=seed, epochs=10, log=Log(every=10)) for seed in range(5)]
    wanted = train_group(configs, memory, lanes=5)
    for lanes in (1, 2):
        for a, b in zip(train_group(configs, memory, lanes), wanted, strict=True):
            difference = weights_of(a) - weights_of(b)
            assert difference.norm() <= CLOSE[precision] * weights_of(b).norm()
            assert a.rows[-1]["train_loss"] == pytest.approx(b.rows[-1]["train_loss"], rel=CLOSE[precision])


def test_the_manifest_states_the_promise_and_a_change_of_lanes(tmp_path, capsys):
    config = replace(BASE, precision="tf32")
    for one in train(config, seeds=3, device=str(DEVICE), runs=tmp_path):
        assert one.manifest["numerics"] == numerics(DEVICE, lanes=3)
        assert one.manifest["numerics"]["promise"].startswith("the same bits on the same GPU with the same lanes")
        assert one.manifest["numerics"]["gpu"] == one.manifest["device"] == torch.cuda.get_device_name(DEVICE)
    longer = train(replace(config, epochs=20), seeds=3, device=str(DEVICE), lanes=2, runs=tmp_path)
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("3 runs (")
    assert "continued with lanes 2 instead of 3; the bits may differ from those of an uninterrupted run" in line
    for one in longer:
        assert [entry["numerics"] for entry in one.manifest["continued"]] == [numerics(DEVICE, lanes=2)]
