"""Restricted and excluded loss: as the paper defines them, by a two-dimensional FFT of the logits over all pairs."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from grokscope.errors import StoreError
from grokscope.probes.progress import progress

P, KEY = 11, [2, 5]


def loss(logits, labels):
    return -log_softmax(logits, axis=-1)[np.arange(len(labels)), labels].mean()


@pytest.fixture
def embedding(wave):
    """Operands on circles of the two key frequencies; further tokens at 0."""

    def circles(extra=1):
        table = torch.zeros(P + extra, 6)
        table[:P, :4] = torch.stack([wave(P, k, phase) for k in KEY for phase in (0.0, np.pi / 2)], 1)
        return table

    return circles


@pytest.fixture
def logits():
    """Waves in a + b, the same for every class c, under noise: [a, b, c]."""
    a, b, c = np.ogrid[:P, :P, :P]
    noise = np.random.default_rng(0).normal(size=(P, P, P))
    return 3 * np.cos(2 * np.pi * 2 * (a + b - c) / P) + noise + 0.5 * c


def by_fft(logits, sign=1):
    """The waves of the key frequencies in a ± b."""
    spectrum = np.fft.fft2(logits, axes=(0, 1))
    kept = np.zeros_like(spectrum)
    for k in KEY:
        for place in ((k, sign * k % P), (P - k, -sign * k % P)):
            kept[place] = spectrum[place]
    return np.fft.ifft2(kept, axes=(0, 1)).real


@pytest.mark.parametrize(("op", "sign"), [("+", 1), ("-", -1)])
def test_losses_are_those_of_the_paper(made, logits, embedding, op, sign):
    stored = made(p=P, op=op, W_E=embedding(), answer=lambda x: torch.tensor(logits[x[:, 0], x[:, 1]]))
    waves = by_fft(logits, sign)
    restricted = waves + logits.mean((0, 1))
    a, b = np.divmod(np.arange(P * P), P)
    train, test = stored.split
    table = progress(stored)
    assert table["epoch"].tolist() == [10, 20]
    assert set(table["key_frequencies"]) == {"2, 5"}
    expected = {
        "train_loss": loss(logits[tuple(train.inputs[:, :2].T)], train.labels.numpy()),
        "test_loss": loss(logits[tuple(test.inputs[:, :2].T)], test.labels.numpy()),
        "restricted_loss": loss(restricted.reshape(-1, P), (a + sign * b) % P),
        "excluded_loss": loss((logits - waves)[tuple(train.inputs[:, :2].T)], train.labels.numpy()),
    }
    assert table[list(expected)].iloc[0].to_dict() == pytest.approx(expected)


def test_a_rotating_net_has_low_restricted_and_high_excluded_loss(made, embedding):
    def rotate(x):
        total = (x[:, 0] + x[:, 1])[:, None] - torch.arange(P)
        return sum(20 * torch.cos(2 * torch.pi * k * total / P) for k in KEY)

    row = progress(made(p=P, W_E=embedding(), answer=rotate)).iloc[-1]
    assert row["restricted_loss"] == pytest.approx(row["test_loss"], abs=1e-5)
    assert row["restricted_loss"] < 0.01
    assert row["excluded_loss"] == pytest.approx(np.log(P), abs=1e-4)


def test_a_memory_without_waves_keeps_its_training_loss(made, embedding):
    def memory(x):
        generator = torch.Generator().manual_seed(0)
        table = 5 * torch.randn(P, P, P, generator=generator)
        return table[x[:, 0], x[:, 1]]

    row = progress(made(p=P, W_E=embedding(), answer=memory)).iloc[-1]
    assert row["excluded_loss"] == pytest.approx(row["train_loss"], rel=0.2)
    assert row["restricted_loss"] > 0.8 * np.log(P)


def test_distractors_are_drawn_once(made, embedding):
    seen = []

    def remember(x):
        seen.append(x)
        return torch.nn.functional.one_hot(x[:, 0], P).float()

    stored = made(p=P, distractors=2, W_E=embedding(extra=17), answer=remember)
    table = progress(stored)
    pairs = [x for x in seen if len(x) == P * P]
    assert len(pairs) == 2
    assert torch.equal(*pairs)
    assert pairs[0].shape == (P * P, 5)
    assert len(pairs[0][:, 2].unique()) > 5
    assert table["test_loss"].notna().all()


def test_other_runs_are_refused(made):
    with pytest.raises(StoreError, match=r"run made learns a \* b; progress reads runs with task.op = \+ or -"):
        progress(made(p=P, op="*"))
    with pytest.raises(StoreError, match="run made has 0 checkpoints, and this probe needs 1"):
        progress(made(epochs=()))
