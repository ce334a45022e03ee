"""Effective rank of the pre-logits, rescaled MLP inputs, and drift of the tangent kernel, against plain definitions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.func import functional_call, jacrev

from grokscope.config import Log
from grokscope.errors import StoreError
from grokscope.launch.local import train_all
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.parts.norm.layer import LayerNorm
from grokscope.probes import ntk as ntk_probe
from grokscope.probes.input_norm import input_norm
from grokscope.probes.ntk import distance, kernels, ntk
from grokscope.probes.prelogits import prelogits
from grokscope.run import StoredRun


@pytest.fixture
def train(tiny, tmp_path):
    def trained(**model):
        changed = replace(tiny.model, **model)
        config = replace(tiny, model=changed, epochs=40, log=Log(every=5, keep=20))
        return StoredRun(train_all([config], device="cpu", runs=tmp_path)[0])

    return trained


class Plain(torch.nn.Module):
    """One head, ReLU MLP, residual stream; the norm of the MLP's input may be changed."""

    def __init__(self, weights):
        super().__init__()
        for name, weight in weights.items():
            self.register_parameter(name, torch.nn.Parameter(weight.clone()))

    def stream(self, tokens, change=lambda x: x):
        x = self.W_E[tokens] + self.W_pos
        scores = torch.einsum("nd,njd->nj", x[:, -1] @ self.W_Q, x @ self.W_K) / x.shape[-1] ** 0.5
        x = x[:, -1] + torch.einsum("nj,njd->nd", scores.softmax(-1), x @ self.W_V)
        return x + torch.relu(change(x) @ self.W_in) @ self.W_out

    def forward(self, tokens):
        return self.stream(tokens) @ self.W_U


def test_effective_rank_of_the_prelogits(train):
    run = train()
    table = prelogits(run).set_index("epoch")
    assert table.index.tolist() == [20, 40]
    for side, examples in run.split._asdict().items():
        z = Plain(run.network(40).weights).stream(examples.inputs).detach().double().numpy()
        eigenvalues = np.linalg.svd(z, compute_uv=False) ** 2
        share = eigenvalues / eigenvalues.sum()
        assert table.loc[40, f"effective_rank_{side}"] == pytest.approx(
            np.exp(-(share * np.log(share)).sum()), rel=1e-4
        )
        assert table.loc[40, f"participation_{side}"] == pytest.approx(1 / (share**2).sum(), rel=1e-4)
    assert table.loc[40, "train_accuracy"] > table.loc[40, "test_accuracy"]


def test_accuracy_with_rescaled_inputs_of_the_mlp(train):
    run = train()
    table = input_norm(run).set_index(["epoch", "side", "norm"])
    plain, examples = Plain(run.network(40).weights), run.split.train

    def size(x):
        return x.norm(dim=-1, keepdim=True)

    changes = {"own": lambda x: x, "unit": lambda x: x / size(x), "equal": lambda x: x / size(x) * size(x).mean()}
    for norm, change in changes.items():
        logits = plain.stream(examples.inputs, change) @ plain.W_U
        found = table.loc[40, "train", norm]
        assert found["accuracy"] == pytest.approx((logits.argmax(-1) == examples.labels).double().mean().item())
        expected = torch.nn.functional.cross_entropy(logits, examples.labels).item()
        assert found["cross_entropy"] == pytest.approx(expected, rel=1e-4)
    assert table["cross_entropy"].unstack("norm").loc[(40, "train")].nunique() == 3


def test_behind_a_norm_inputs_have_equal_norm_already(train):
    """A negative control: without a gain LayerNorm leaves nothing that "equal" could take away."""
    loss = input_norm(train(norm="mlp")).set_index(["epoch", "side", "norm"])["cross_entropy"].unstack("norm")
    assert np.allclose(loss["own"], loss["equal"], rtol=1e-3)
    assert not np.allclose(loss["own"], loss["unit"], rtol=1e-2)


def test_probes_read_gains_biases_layers_and_heads(train):
    run = train(
        norm="both", norm_kind=LayerNorm(affine=True), mlp=ReLU(bias=True), heads=2, layers=2, scope="full", d=8
    )
    for probe in (prelogits, input_norm, ntk):
        assert np.isfinite(probe(run).drop(columns=["side", "norm"], errors="ignore").to_numpy(dtype=float)).all()


def test_the_kernel_is_that_of_jacrev(train):
    run = train()
    network, examples, classes = run.network(40), run.split.train, torch.tensor([1, 4])
    examples = type(examples)(*(t[:5] for t in examples))
    plain = Plain(network.weights)

    def logits(parameters):
        out = functional_call(plain, parameters, (examples.inputs,))
        return out.sum(-1), (out - out.mean(-1, keepdim=True))[:, classes].flatten()

    found = kernels(network, examples, classes)
    for own, jacobian in zip(found, jacrev(logits)(dict(plain.named_parameters())), strict=True):
        rows = torch.cat([part.flatten(1) for part in jacobian.values()], 1)
        torch.testing.assert_close(own, rows @ rows.mT, rtol=1e-3, atol=1e-4)


def test_drift_begins_at_zero_and_grows(train, monkeypatch):
    monkeypatch.setattr(ntk_probe, "EXAMPLES", 6)
    table = ntk(train()).set_index("epoch")
    assert table.index.tolist() == [0, 20, 40]
    assert table.loc[0, ["relative", "start", "previous"]].abs().max() < 1e-6
    assert table.loc[0, "trace"] == pytest.approx(1)
    assert (table.loc[[20, 40], ["relative", "start", "previous"]] > 1e-3).all(axis=None)


def test_distance_of_kernels():
    kernel = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    assert distance(kernel, 7 * kernel) == pytest.approx(0, abs=1e-6)
    assert distance(torch.diag(torch.tensor([1.0, 0])), torch.diag(torch.tensor([0, 1.0]))) == pytest.approx(1)


def test_a_model_without_them_is_refused(train, tiny, tmp_path):
    config = replace(tiny, model=EmbeddingMLP(d=8, d_mlp=8), task=replace(tiny.task, distractors=0), epochs=20)
    run = StoredRun(train_all([replace(config, prior=replace(tiny.prior, beta=0.0))], device="cpu", runs=tmp_path)[0])
    with pytest.raises(StoreError, match="shows no pre-logits"):
        prelogits(run)
    with pytest.raises(StoreError, match="has no MLP behind attention"):
        input_norm(run)
