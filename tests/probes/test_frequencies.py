"""Key frequencies by hand, and the projection on waves against an FFT."""

import numpy as np
import pytest
import torch

from grokscope.probes.checkpoints import thinned
from grokscope.probes.frequencies import key_frequencies, projection


@pytest.fixture
def embedding(wave):
    def waves(p, **amplitudes):
        columns = [size * wave(p, int(name[1:]), 0.3 * i) for i, (name, size) in enumerate(amplitudes.items())]
        return torch.stack(columns, 1)

    return waves


def test_key_frequencies_carry_nine_tenths_of_the_power(embedding):
    # powers 64, 25, 9 and 2 in 100; a large constant part does not count
    table = embedding(13, f5=8.0, f2=5.0, f6=3.0, f1=2**0.5) + 50
    assert key_frequencies(table) == [2, 5, 6]
    assert key_frequencies(embedding(13, f5=8.0, f2=2.0)) == [5]


def test_the_highest_frequency_of_an_even_modulus_counts_once(embedding):
    # over 8 places a cosine of frequency 4 has power 1 a place, another one half of it: 1 · 1 against 4 · ½
    assert key_frequencies(embedding(8, f4=1.0, f1=2.0)) == [1, 4]
    assert key_frequencies(embedding(8, f4=1.0, f1=4.5)) == [1]


@pytest.mark.parametrize(("p", "keep"), [(13, [2, 5]), (8, [1, 4]), (8, [4])])
def test_projection_keeps_waves(p, keep):
    values = np.random.default_rng(0).normal(size=(p, 3))
    spectrum = np.fft.fft(values, axis=0)
    spectrum[[k for k in range(p) if min(k, p - k) not in keep]] = 0
    expected = np.fft.ifft(spectrum, axis=0).real
    np.testing.assert_allclose(projection(p, keep) @ torch.tensor(values), expected, atol=1e-12)


def test_thinned_keeps_both_ends():
    assert thinned([5, 10, 12], 4) == [5, 10, 12]
    assert thinned(list(range(0, 100, 10)), 4) == [0, 30, 60, 90]
