"""A scope beside checkpointing, compilation and distributed training."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from networks import MinGPT, batch, build

import grokscope
from grokscope.errors import GrokscopeError

MASK = torch.tensor([True, True, False, False, False])


def trained(model, call, beta=0.3):
    tokens, labels = batch()
    with grokscope.watch(model, informative=MASK, every=1) as scope:
        loss = F.cross_entropy(call(tokens)[:, -1], labels) + scope.prior(beta)
        loss.backward()
        row = scope.step(loss=loss)
    return row, {name: weight.grad.clone() for name, weight in model.named_parameters()}


def test_checkpointed_blocks_give_the_same_row_and_gradients():
    torch.manual_seed(0)
    plain, checkpointed = MinGPT(), MinGPT(checkpoint=True)
    checkpointed.load_state_dict(plain.state_dict())
    (row, grads), (other, others) = (trained(model, model) for model in (plain, checkpointed))
    torch.testing.assert_close(grads, others)
    for name in ("D", "grad_logit", "grad_M", "prior_loss", "train_loss"):
        assert other[name] == pytest.approx(row[name], rel=1e-5)


def checkpointed(model, **how):
    """Let a network of transformers recompute its activations; since 5.23 under another name."""
    if hasattr(model, "activation_checkpointing_enable"):
        model.activation_checkpointing_enable(activation_checkpointing_kwargs=how)
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=how)


@pytest.mark.parametrize("kind", ["gpt2-sdpa", "gpt2-eager"])
def test_gradient_checkpointing_of_transformers(kind):
    one, two = build(kind), build(kind)
    checkpointed(two.model, use_reentrant=False)
    for network in (one, two):
        network.model.train()
    (row, grads), (other, others) = (trained(network.model, network) for network in (one, two))
    torch.testing.assert_close(grads, others)
    for name in ("D", "grad_logit", "grad_M"):
        assert other[name] == pytest.approx(row[name], rel=1e-5)


def test_reentrant_checkpoints_are_refused():
    network = build("gpt2-sdpa")
    network.model.train()
    checkpointed(network.model, use_reentrant=True)
    network.model.enable_input_require_grads()
    with pytest.raises(GrokscopeError, match="use_reentrant=False"):
        trained(network.model, network)


@pytest.mark.parametrize("used_before", [False, True])
def test_compiling_inside_is_refused(used_before):
    torch.manual_seed(0)
    model, tokens = MinGPT(), batch()[0]
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    if used_before:
        compiled(tokens)
    with pytest.raises(GrokscopeError, match=r"torch\.compile cannot trace a watched model"):
        trained(model, compiled)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    torch.testing.assert_close(compiled(tokens), model(tokens))


def test_two_processes(tmp_path):
    """DistributedDataParallel: gradients are averaged, one of two processes stores the run."""
    worker = Path(__file__).with_name("distributed_worker.py")
    done = subprocess.run(
        [sys.executable, str(worker), str(tmp_path)], capture_output=True, text=True, cwd=worker.parent, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (run,) = grokscope.list_runs(tmp_path / "runs")
    assert run.epoch == 2 and run.status == "done"
    one, two, alone = (torch.load(tmp_path / f"{name}.pt") for name in ("rank0", "rank1", "alone"))
    torch.testing.assert_close(one, two)
    torch.testing.assert_close(one, alone)
