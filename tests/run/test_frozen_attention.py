"""Attention frozen at known weights, in the precisions that tickets and the audit compute with."""

from dataclasses import replace

import pytest
import torch

from grokscope.launch import train_all
from grokscope.priors import Constraints
from grokscope.run import StoredRun
from grokscope.tasks.parity import Parity
from grokscope.tickets import tickets


@pytest.fixture
def uniform(tiny):
    prior = replace(tiny.prior, beta=0.0)
    return replace(tiny, constraint=Constraints(attention="uniform"), prior=prior, epochs=5)


@pytest.mark.parametrize("kind", ["synflow", "snip", "grasp"])
def test_pruning_before_training_with_frozen_attention(uniform, tmp_path, kind):
    (info,) = train_all([replace(uniform, ticket=tickets.get(kind)())], runs=tmp_path, device="cpu")
    assert info.status == "done"


def test_the_weights_of_a_double_network_sum_to_one(uniform, tmp_path):
    """Of 1/11 and 1/12 in float32 they do so only to seven digits."""
    config = replace(uniform, task=Parity(n=11, k=3))
    (info,) = train_all([config], runs=tmp_path, device="cpu")
    run = StoredRun(info)
    attention = run.network().double().attention(run.split.test)
    assert attention.dtype == torch.float64
    torch.testing.assert_close(attention.sum(-1), torch.ones(len(attention), dtype=torch.float64), rtol=0, atol=1e-12)


def test_such_a_run_can_be_audited(uniform, tmp_path, run):
    train_all([replace(uniform, task=Parity(n=11, k=3))], runs=tmp_path / "runs", device="cpu")
    code, out, err = run("audit")
    assert code == 0, err
    assert "attention is frozen" in out
