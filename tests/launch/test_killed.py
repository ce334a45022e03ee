"""Kill −9 at random moments: the run goes on from its last checkpoint and ends with the same bits as an undisturbed one."""

import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from grokscope.store import find_run, list_runs, read_checkpoint, read_metrics

CODE = """
import sys
from dataclasses import replace
from grokscope.config import Log, RunConfig
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular
from grokscope.launch.local import train_all
base = RunConfig(
    task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6), model=Transformer(d=8, d_mlp=16),
    optim=AdamW(lr=1e-2), prior=KL(beta=0.1), log=Log(every=5, keep=100),
)
configs = [replace(base, seed=seed, epochs=epochs) for seed, epochs in enumerate((400, 150, 250, 300))]
print("ready", flush=True)
train_all(configs, runs=sys.argv[1], lanes=3, device="cpu", save_every=0.05)
print("done", flush=True)
"""


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(folder):
    process = start(folder)
    out, err = process.communicate(timeout=300)
    assert "done" in out, err


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(folder)
    return folder


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_fleet_ends_with_the_same_bits(undisturbed, tmp_path, seed):
    moments = random.Random(seed)
    kills = 0
    for _ in range(4):
        process = start(tmp_path)
        assert process.stdout.readline().strip() == "ready"
        time.sleep(moments.uniform(0.05, 0.9))
        if process.poll() is None:
            kills += 1
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert kills >= 2, "the fleet was too quick to be killed"
    finish(tmp_path)
    runs = list_runs(undisturbed)
    assert len(runs) == 4
    for run in runs:
        other = find_run(tmp_path, run.id)
        assert (other.status, other.epoch) == (run.status, run.epoch)
        a, b = (read_metrics(r).to_pandas().drop(columns=["seconds", "seconds_per_step"]) for r in (run, other))
        assert a.equals(b)
        for epoch in (None, 100):
            a, b = (read_checkpoint(r, epoch).tensors for r in (run, other))
            assert a.keys() == b.keys()
            assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_second_process_gets_a_clear_error(tmp_path):
    first = start(tmp_path)
    assert first.stdout.readline().strip() == "ready"
    while not any(tmp_path.glob("*/metrics/*.parquet")):
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.01)
    second = start(tmp_path)
    out, err = second.communicate(timeout=120)
    first.kill()
    first.communicate()
    assert "done" not in out
    assert "is being trained by another process" in err
