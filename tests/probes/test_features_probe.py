"""Feature movement and compressibility of runs, against the same numbers from a plain forward pass."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from grokscope.analysis.features import linear_cka
from grokscope.config import Log
from grokscope.errors import StoreError
from grokscope.launch.local import train_all
from grokscope.probes.compressibility import compressibility, masked, smallest_kept
from grokscope.probes.features import features
from grokscope.run import StoredRun


@pytest.fixture
def trained(tiny, tmp_path):
    config = replace(tiny, epochs=40, log=Log(every=5, keep=20))
    return StoredRun(train_all([config], device="cpu", runs=tmp_path)[0])


def plain(weights, tokens):
    """Pooled features, hidden layer and logits of one head."""
    x = weights["W_E"][tokens] + weights["W_pos"]
    scores = torch.einsum("nd,njd->nj", x[:, -1] @ weights["W_Q"], x @ weights["W_K"]) / x.shape[-1] ** 0.5
    h = torch.einsum("nj,njd->nd", scores.softmax(-1), x @ weights["W_V"])
    hidden = torch.relu((x[:, -1] + h) @ weights["W_in"])
    return h, hidden, (x[:, -1] + h + hidden @ weights["W_out"]) @ weights["W_U"]


def test_movement_of_a_run(trained):
    table = features(trained).set_index("epoch")
    assert table.index.tolist() == [0, 20, 40]
    test = trained.split.test
    every = {epoch: (trained.network(epoch) if epoch else trained.start()).weights for epoch in table.index}
    for epoch, before in ((20, 0), (40, 20)):
        row, now, previous, start = table.loc[epoch], every[epoch], every[before], every[0]
        for kind, place in (("pooled", 0), ("hidden", 1)):
            mine, then, first = (plain(w, test.inputs)[place].numpy() for w in (now, previous, start))
            assert row[f"{kind}_start"] == pytest.approx(linear_cka(mine, first), rel=1e-4)
            assert row[f"{kind}_previous"] == pytest.approx(linear_cka(mine, then), rel=1e-4)
        assert row["embedding_start"] == pytest.approx(linear_cka(now["W_E"], start["W_E"]), rel=1e-4)
        squares = [sum((now[n] - old[n]).square().sum() for n in now) for old in (start, previous)]
        sizes = [sum(old[n].square().sum() for n in now) for old in (start, previous)]
        changes = [(a / b).sqrt().item() for a, b in zip(squares, sizes, strict=True)]
        assert [row["weight_start"], row["weight_previous"]] == pytest.approx(changes, rel=1e-4)
        right = (plain(now, test.inputs)[2].argmax(-1) == test.labels).double().mean().item()
        assert row["test_accuracy"] == pytest.approx(right)
    likeness = table.loc[0].drop(["test_accuracy", "weight_start", "weight_previous"])
    assert likeness.tolist() == pytest.approx([1] * 6)
    assert table.loc[0, "weight_start"] == 0
    assert table.loc[40, "hidden_start"] < 0.999


def test_dimensions_of_the_hidden_layer(trained):
    table = compressibility(trained).set_index("epoch")
    assert table.index.tolist() == [20, 40]
    hidden = plain(trained.network(40).weights, trained.split.test.inputs)[1].double().numpy()
    spectrum = np.linalg.svd(hidden - hidden.mean(0), compute_uv=False) ** 2
    row = table.loc[40]
    assert row["participation_ratio"] == pytest.approx(spectrum.sum() ** 2 / (spectrum**2).sum(), rel=1e-4)
    share = np.sqrt(spectrum[spectrum > 0]) / np.sqrt(spectrum).sum()
    assert row["effective_rank"] == pytest.approx(np.exp(-(share * np.log(share)).sum()), rel=1e-3)
    assert row["pca_dimension"] == 1 + np.flatnonzero(np.cumsum(spectrum) >= 0.95 * spectrum.sum())[0]
    assert row["train_accuracy"] > row["test_accuracy"]


def test_smallest_share_of_weights_is_where_accuracy_gives_way(trained):
    weights, train = trained.network(40).weights, trained.split.train

    def right(share):
        logits = plain(masked(weights, share), train.inputs)[2]
        return (logits.argmax(-1) == train.labels).double().mean().item()

    share = smallest_kept(trained.network(40), train)
    assert share == compressibility(trained).set_index("epoch").loc[40, "kept_train"]
    assert 0.05 < share < 1
    assert right(share) >= right(1.0) - 0.01 > right(share - 0.01)


def test_masks_keep_the_largest_weights_of_each_matrix():
    weights = {"W": torch.tensor([[1.0, -3.0], [0.5, 2.0]]), "V": torch.tensor([[10.0, 20.0]]), "b": torch.ones(2)}
    kept = masked(weights, 0.5)
    assert kept["W"].tolist() == [[0, -3], [0, 2]]
    assert kept["V"].tolist() == [[0, 20]]
    assert kept["b"].tolist() == [1, 1]


def test_a_model_without_hidden_layer_is_refused(made):
    with pytest.raises(StoreError, match="shows no hidden layer"):
        compressibility(made(answer=lambda tokens: torch.zeros(len(tokens), 11)))
