"""What neurons read, and spectra of neurons whose frequencies are known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from grokscope.errors import StoreError
from grokscope.probes.neurons import neurons
from grokscope.probes.spectra import spectra
from grokscope.store.blocks import numbers_of
from grokscope.tasks.parity import Parity

P = 11


@pytest.fixture
def stored(made, wave):
    """Four neurons: three read frequency 3, one reads 5; all write frequency 2. The embedding holds both in equal parts."""
    table = torch.zeros(P + 1, 6)
    table[:P, 0], table[:P, 1] = wave(P, 3), wave(P, 5)
    W_in = torch.zeros(6, 4)
    W_in[0, :3], W_in[1, 3] = 2.0, 1.0
    W_out, W_U = torch.ones(4, 6), torch.zeros(6, P)
    W_U[0] = wave(P, 2)
    return made(p=P, epochs=range(5, 55, 5), W_E=table, W_in=W_in, W_out=W_out, W_U=W_U)


def test_spectra_by_hand(stored):
    table = spectra(stored)
    assert list(table) == ["epoch", "side", "frequency", "amplitude", "share", "key"]
    assert table["epoch"].unique().tolist() == [5, 10, 20, 25, 30, 35, 45, 50]
    last = table[table["epoch"] == 50]
    assert len(last) == 2 * (P // 2 + 1)
    reads, writes = (last[last["side"] == side].set_index("frequency") for side in ("reads", "writes"))
    assert reads["share"].to_dict() == {0: 0, 1: 0, 2: 0, 3: 0.75, 4: 0, 5: 0.25}
    assert writes["share"].to_dict() == {0: 0, 1: 0, 2: 1, 3: 0, 4: 0, 5: 0}
    # a cosine of size s has amplitude s·p/2
    np.testing.assert_allclose(reads["amplitude"], [0, 0, 0, 0.75 * 2 * P / 2, 0, 0.25 * P / 2], atol=1e-5)
    np.testing.assert_allclose(writes["amplitude"], [0, 0, P / 2, 0, 0, 0], atol=1e-5)
    assert reads["key"][reads["key"]].index.tolist() == [3, 5]


def test_neurons_can_be_drawn_again(stored, wave):
    table = neurons(stored)
    assert table["epoch"].unique().tolist() == [5, 20, 35, 50]
    assert table["what"].tolist() == ["reads", "spectrum"] * 4
    reads, spectrum = (numbers_of(row) for row in table.tail(2).to_dict("records"))
    expected = torch.stack([2 * wave(P, 3)] * 3 + [wave(P, 5)]).numpy()
    np.testing.assert_allclose(reads, expected, atol=2 / 250)
    np.testing.assert_allclose(spectrum, np.abs(np.fft.rfft(expected)), atol=P / 250)


@pytest.mark.parametrize("probe", [spectra, neurons])
def test_models_without_such_neurons_and_other_tasks_are_refused(made, probe):
    with pytest.raises(StoreError, match="run made: model with-neurons has no neurons that read single tokens"):
        probe(made(neurons=False))
    run = made()
    parity = replace(run, config=replace(run.config, task=Parity(n=6, k=2)))
    with pytest.raises(StoreError, match="run made learns parity; this probe reads runs of task modular"):
        probe(parity)
