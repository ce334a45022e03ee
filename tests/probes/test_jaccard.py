"""Jaccard distances of checkpoints, against sets of the largest weights."""

from dataclasses import replace

import pytest

from grokscope.config import Log
from grokscope.errors import StoreError
from grokscope.launch.local import train_all
from grokscope.probes import StoredRun, probes
from grokscope.probes.jaccard import ALL, jaccard
from grokscope.store import read_metrics


def largest(weights, names):
    """The 40 % of the weights with the largest size, as (layer, place)."""
    sizes = {(name, i): abs(w) for name in names for i, w in enumerate(weights[name].flatten().tolist())}
    kept = len(sizes) - round(0.6 * len(sizes))
    return set(sorted(sizes, key=sizes.get, reverse=True)[:kept])


@pytest.fixture
def trained(tiny, tmp_path):
    def train(keep):
        config = replace(tiny, log=Log(every=5, keep=keep))
        return StoredRun(train_all([config], device="cpu", runs=tmp_path)[0])

    return train


def test_distances_and_accuracy_of_a_run(trained):
    stored = trained(5)
    table = jaccard(stored)
    names = list(stored.config.model.parameters(stored.config.task.shape))
    assert table["layer"].tolist() == [*names, ALL] * 2
    assert table[["previous", "epoch"]].drop_duplicates().to_numpy().tolist() == [[5, 10], [10, 12]]
    accuracy = read_metrics(stored.info).to_pandas().set_index("epoch")["test_accuracy"]
    for row in table.to_dict("records"):
        layers = names if row["layer"] == ALL else [row["layer"]]
        before, after = (largest(stored.network(row[when]).weights, layers) for when in ("previous", "epoch"))
        assert row["distance"] == pytest.approx(1 - len(before & after) / len(before | after), abs=1e-6)
        assert row["accuracy_change"] == pytest.approx(accuracy[row["epoch"]] - accuracy[row["previous"]])
    assert table["distance"].between(0.01, 0.9).any()


def test_one_checkpoint_is_too_few(trained):
    stored = trained(0)
    message = f"run {stored.info.id} has 1 checkpoint, and this probe needs 2: train it with log.keep"
    with pytest.raises(StoreError, match=message):
        probes.get("jaccard")(stored)
