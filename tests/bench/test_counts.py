"""What a run-step costs at least, counted by hand."""

from dataclasses import replace

import pytest
from grokscope.bench.counts import Product, bytes_layered, bytes_moved, lookups, multiply_adds, products

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.transformer import Transformer
from grokscope.optim.sgd import SGD
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.modular import Modular

DEFAULT = RunConfig(task=Modular(p=113, distractors=2, alphabet=16, train_fraction=0.3))
SMALL = Modular(p=5, distractors=1, alphabet=2, train_size=10)
"""Eight symbols at four places: 32 rows; ten sequences of four tokens; five classes."""


def small(**model):
    return RunConfig(task=SMALL, model=Transformer(d=4, d_mlp=8, **model))


def test_the_papers_default():
    """3830 · (64·256 + 256·64 + 64·113) and the tables of 650 rows, three times."""
    assert multiply_adds(DEFAULT) == 3 * (3830 * 40_000 + 650 * 64 * 64 + 650 * 64 + 2 * 64 * 64)
    assert multiply_adds(DEFAULT, "table") == multiply_adds(DEFAULT) - 3 * (3830 - 650) * 64 * 256
    assert lookups(DEFAULT) == 3 * 3830 * 5 * 65
    assert lookups(DEFAULT, "table") - lookups(DEFAULT) == 3 * 3830 * 5 * 256


def test_products_of_a_small_query_only_run():
    assert products(small()) == [
        Product("W_Q of the query", 1, 4, 4),
        Product("W_K of the query", 4, 4, 1, 1),
        Product("attention logits of the table", 32, 4, 1),
        Product("W_V of the table", 32, 4, 4),
        Product("W_in", 10, 4, 8),
        Product("W_out", 10, 8, 4),
        Product("W_U", 10, 4, 5),
    ]
    names = [(p.name, p.rows, p.columns) for p in products(small(readout="minimal"))[-2:]]
    assert names == [("W_in", 10, 8), ("W_out", 10, 5)]
    assert ("W_O", 10, 4, 4) in [product[:4] for product in products(small(heads=2))]
    assert [product.rows for product in products(small(), "table") if product.name == "W_in"] == [32]


def test_products_of_two_causal_layers():
    found = {p.name: p[1:] for p in products(small(scope="causal", layers=2, heads=2))}
    assert found["W_Q, layer 1"] == found["W_K, layer 1"] == found["W_K, layer 2"] == (40, 4, 4, 1)
    assert found["W_Q, layer 2"] == (10, 4, 4, 1)  # the last layer answers at the query alone
    assert found["attention logits, layer 1"] == (4, 2, 4, 20)
    assert found["attention, layer 2"] == (1, 4, 2, 20)
    assert found["W_O, layer 1"] == (40, 4, 4, 1)
    assert found["W_in, layer 1"] == (40, 4, 8, 1)
    assert found["W_out, layer 2"] == (10, 8, 4, 1)
    assert found["W_U"] == (10, 4, 5, 1)
    table = {p.name: p.rows for p in products(small(scope="causal", layers=2), "table")}
    assert (table["W_Q, layer 1"], table["W_V, layer 1"], table["W_V, layer 2"]) == (32, 32, 40)


def test_next_token_tasks_answer_at_every_position():
    task = AutoregressiveParity(n=6, k=2, train_size=12)
    config = RunConfig(task=task, model=Transformer(d=4, d_mlp=8, scope="causal"), batch_size=5)
    found = {p.name: p.rows for p in products(config)}
    length = task.shape.length
    assert found["W_in, layer 1"] == found["W_U"] == 5 * length
    assert bytes_moved(config)["labels"] == 4 * 5 * length


def test_bytes_by_hand():
    """Weights: 8·4 + 4·4 + 3·16 + 32 + 32 + 20 = 180 numbers."""
    config = small()
    assert bytes_moved(config) == {
        "plan of look-ups": 4 * (10 * 4 * 2 + 32),
        "labels": 4 * 10,
        "target of attention": 4 * 10 * 4,
        "weights": 2 * 4 * 180,
        "optimizer state": 2 * 4 * 2 * 180,  # mean and square
        "tables": 4 * 4 * 32 * (4 + 1),
    }
    assert bytes_moved(replace(config, optim=SGD(momentum=0.9)))["optimizer state"] == 2 * 4 * 180
    activations = 4 + 4 + 32 + 32 * 4 + 10 * (4 + 8 + 4 + 5)  # tables; x, hidden, answer, logits
    moved = sum(bytes_moved(config).values())
    assert bytes_layered(config) == moved + 5 * 4 * activations
    assert bytes_layered(config, 2) == moved + 5 * 2 * activations


def test_what_is_not_counted_says_so():
    with pytest.raises(ConfigError, match="transformer only"):
        multiply_adds(RunConfig(model=EmbeddingMLP()))
    for other in ({"heads": 2}, {"norm": "mlp"}):
        with pytest.raises(ConfigError, match="one head and no norm"):
            products(small(**other), "table")
