"""Kill −9 at random moments: the run continues from its last checkpoint and ends with the same bits as an uninterrupted one.

Nothing here depends on speed: the process to be killed reports every evaluation, and blocks after a given number of them.
"""

import random
import signal
import subprocess
import sys

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
    optim=AdamW(lr=1e-2), prior=KL(beta=0.1), log=Log(every=5, keep=25),
)

class Reporter:
    evaluations = 0
    def update(self, lanes, waiting):
        self.evaluations += 1
        print("evaluated", flush=True)
        if self.evaluations == int(sys.argv[2]):
            sys.stdin.read()  # until it is killed

configs = [replace(base, seed=seed, epochs=epochs) for seed, epochs in enumerate((400, 150, 250, 300))]
train_all(configs, runs=sys.argv[1], lanes=3, device="cpu", save_every=0.0, progress=Reporter())
print("done", flush=True)
"""


def start(folder, block=0):
    """A process that trains, and that blocks after `block` evaluations (0: never)."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder), str(block)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_evaluations(process, count):
    for _ in range(count):
        if process.stdout.readline() != "evaluated\n":
            process.kill()
            pytest.fail(process.communicate()[1])


def finish(folder):
    process = start(folder)
    out, err = process.communicate()
    assert out.endswith("done\n"), err


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(folder)
    return folder


@pytest.mark.matrix
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_fleet_ends_with_the_same_bits(undisturbed, tmp_path, seed):
    """All runs take some 90 evaluations. A kill comes after 5 to 14 of them, and at most 4 later: in training or in a save."""
    moments = random.Random(seed)
    for _ in range(4):
        count = moments.randint(5, 14)
        process = start(tmp_path, block=count + 4)
        wait_for_evaluations(process, count)
        process.send_signal(signal.SIGKILL)
        assert "done" not in process.communicate()[0]
        assert process.returncode == -signal.SIGKILL
    unfinished = [run for run in list_runs(tmp_path) if run.status == "stopped"]
    assert any(0 < run.epoch < run.config["epochs"] for run in unfinished)
    finish(tmp_path)
    compare(undisturbed, tmp_path)


def compare(undisturbed, folder):
    """The same rows and checkpoints, bit for bit."""
    runs = list_runs(undisturbed)
    assert len(runs) == 4
    for run in runs:
        other = find_run(folder, run.id)
        assert (other.status, other.epoch) == (run.status, run.epoch)
        a, b = (read_metrics(r).to_pandas().drop(columns=["seconds", "seconds_per_step"]) for r in (run, other))
        assert a.equals(b)
        for epoch in (None, 100):
            a, b = (read_checkpoint(r, epoch).tensors for r in (run, other))
            assert a.keys() == b.keys()
            assert all(torch.equal(a[name], b[name]) for name in a)


def test_two_processes_share_the_runs(undisturbed, tmp_path):
    """The first one holds its runs until it has been waited for, and is then killed; the second trains the others, then these."""
    first = start(tmp_path, block=3)
    wait_for_evaluations(first, 3)
    second = start(tmp_path)
    while "waiting for it" not in (line := second.stderr.readline()):
        assert line, "the second process ended without waiting"
    assert "being trained by another process" in line
    assert first.poll() is None
    first.kill()
    first.communicate()
    out, err = second.communicate()
    assert out.endswith("done\n"), err
    compare(undisturbed, tmp_path)


def test_runs_finished_elsewhere_are_not_trained_again(undisturbed, tmp_path):
    """Two processes begin with the same jobs: each run is trained once, to its own end."""
    both = [start(tmp_path), start(tmp_path)]
    for process in both:
        out, err = process.communicate()
        assert out.endswith("done\n"), err
    compare(undisturbed, tmp_path)
    assert all(read_metrics(run)["epoch"].to_pylist().count(0) == 1 for run in list_runs(tmp_path))
