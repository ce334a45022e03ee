"""What a run-step costs at least, traced and counted by hand."""

from dataclasses import replace

import pytest

from grokscope.bench.entries import entries, origin_for
from grokscope.bench.trace import Product, step_cost
from grokscope.config import RunConfig
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.transformer import Transformer
from grokscope.optim.filters import GrokfastEMA
from grokscope.optim.muon import Muon
from grokscope.optim.sgd import SGD
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.modular import Modular

SMALL = Modular(p=5, distractors=1, alphabet=2, train_size=10)
"""Eight symbols at four places; ten sequences of four tokens; five classes."""


def small(**model):
    return RunConfig(task=SMALL, model=Transformer(d=4, d_mlp=8, **model))


def by_shape(config):
    """Multiply-adds of the products by the set of their three sizes: forward and both backward products have the same."""
    found = {}
    for p in step_cost(config).products:
        sizes = tuple(sorted((p.rows, p.inner, p.columns)))
        found[sizes] = found.get(sizes, 0) + p.multiply_adds
    return found


def test_the_default_run():
    """3830 · (64·256 + 256·64 + 64·113), once forward and twice backward; tables of 130 symbols and 5 positions on top."""
    cost = step_cost(RunConfig(task=Modular(p=113, distractors=2, alphabet=16, train_fraction=0.3)))
    examples = 3 * 3830 * 40_000
    assert examples < cost.multiply_adds < 1.01 * examples
    weights = 130 * 64 + 5 * 64 + 3 * 64 * 64 + 2 * 64 * 256 + 64 * 113
    assert cost.bytes["weights"] == 2 * 4 * weights
    assert cost.bytes["optimizer state"] == 2 * 2 * 4 * weights
    assert cost.activations > 4 * 3830 * 256  # the hidden layer
    assert cost.lookups > 0 and cost.elementwise > 0


def test_products_of_a_small_run_by_hand():
    """Each product over the ten examples is computed three times."""
    found = by_shape(small())
    assert found[4, 5, 10] == 3 * 10 * 4 * 5  # W_U
    assert found[4, 8, 10] == 2 * 3 * 10 * 4 * 8  # W_in and W_out
    mlp = by_shape(RunConfig(task=SMALL, model=EmbeddingMLP(d=6, d_mlp=3)))
    assert mlp[3, 5, 10] == 3 * 10 * 3 * 5  # W_out W_U is one matrix
    assert mlp[3, 6, 7] == 3 * 7 * 6 * 3  # E W_in of seven tokens


def test_next_token_tasks_answer_at_every_position():
    task = AutoregressiveParity(n=6, k=2, train_size=12)
    config = RunConfig(task=task, model=Transformer(d=4, d_mlp=9, scope="causal"), batch_size=5)
    found = by_shape(config)
    assert found[4, 9, 5 * task.shape.length] == 2 * 3 * 5 * task.shape.length * 4 * 9


def test_batches_cost_what_they_hold():
    whole, half = (step_cost(replace(small(), batch_size=size)) for size in (0, 5))
    assert half.multiply_adds < whole.multiply_adds
    assert half.bytes["data"] < whole.bytes["data"]


def test_optimizers_and_filters_are_counted():
    config = small()
    plain, sgd = step_cost(config), step_cost(replace(config, optim=SGD(momentum=0.9)))
    assert sgd.bytes["optimizer state"] == plain.bytes["optimizer state"] // 2
    filtered = step_cost(replace(config, filter=GrokfastEMA()))
    assert filtered.bytes["filter state"] == plain.bytes["weights"]
    assert step_cost(replace(config, optim=Muon())).multiply_adds > plain.multiply_adds


def test_a_product_counts_its_calls():
    assert Product(2, 3, 4, batch=5, calls=6).multiply_adds == 2 * 3 * 4 * 5 * 6


TINY = RunConfig(task=Modular(p=23, train_fraction=0.97), model=Transformer(d=8, d_mlp=16))
LARGE = ("standard", "power", "tickets", "task=imdb")
TRACED = [entry for entry in entries(TINY) if entry.config and not entry.name.startswith(LARGE)]


@pytest.mark.parametrize("entry", TRACED, ids=lambda entry: entry.name)
def test_every_product_that_is_counted_can_be_timed(entry):
    """The shapes that were recorded add up to what PyTorch's FLOP counter found."""
    cost = step_cost(entry.config, origin_for(entry.config))
    assert cost.multiply_adds == sum(product.multiply_adds for product in cost.products) > 0
