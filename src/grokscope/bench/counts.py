"""The minimum cost of a step of one transformer run: multiply-adds of its matrix products, bytes that must move.

Only the query position is computed where only the query attends, and what depends on (token, position) alone is a product
over the rows of a table, so the counts are those of the cheapest known way and not of a plain loop.

The first layer can be computed in two ways. In "product" the pooled vector x of each example is multiplied by W_in. In "table"
the rows are multiplied by W_in first and each example pools T of the wide rows: look-ups in place of a product.
(With causal scope the first layer is W_Q, W_K and W_V, of every position or of the table.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

from ..errors import ConfigError
from ..models.transformer import Transformer

if TYPE_CHECKING:
    from ..config import RunConfig

FirstLayer = Literal["product", "table"]
INDEX, FLOAT = 4, 4
"""Bytes of an index and of a weight."""
PASSES = 5
"""How often an activation crosses memory when every layer is a kernel of its own: written and read forward, read again for
the gradient of the weights, and its own gradient written and read."""


class Product(NamedTuple):
    """A product [rows × inner] · [inner × columns], forward once and backward twice, `batch` of them per run-step."""

    name: str
    rows: int
    inner: int
    columns: int
    batch: int = 1

    @property
    def multiply_adds(self) -> int:
        return 3 * self.batch * self.rows * self.inner * self.columns


def products(config: RunConfig, first_layer: FirstLayer = "product") -> list[Product]:
    """The matrix products of a run-step that cannot be avoided."""
    model, shape = _transformer(config), config.task.shape
    d, hidden, heads = model.d, model.d_mlp, model.heads
    examples, rows = _examples(config), _table_rows(config)
    if model.scope == "causal":
        return _causal(config, first_layer)
    if first_layer == "table" and (heads > 1 or model.norm in ("mlp", "both")):
        raise ConfigError("model", "the first layer is a table only with one head and no norm before the MLP")
    found = [
        Product("W_Q of the query", 1, d, d),
        Product("W_K of the query", d, d // heads, 1, heads),
        Product("attention logits of the table", rows, d, heads),
        Product("W_V of the table", rows, d, d),
    ]
    if heads > 1 and model.readout.residual:
        found.append(Product("W_O", examples, d, d))
    found.append(Product("W_in", rows if first_layer == "table" else examples, d, hidden))
    if not model.readout.residual:
        return [*found, Product("W_out", examples, hidden, shape.classes)]
    return [*found, Product("W_out", examples, hidden, d), Product("W_U", examples, d, shape.classes)]


def _causal(config: RunConfig, first_layer: FirstLayer) -> list[Product]:
    """Every position attends; the last layer answers at the query alone, unless the loss is taken at every position."""
    model, shape = _transformer(config), config.task.shape
    d, hidden, heads = model.d, model.d_mlp, model.heads
    examples, length = _examples(config), shape.length
    found: list[Product] = []
    for layer in range(model.layers):
        asked = length if layer < model.layers - 1 or shape.every_position else 1
        table = first_layer == "table" and layer == 0
        every, some = (_table_rows(config),) * 2 if table else (examples * length, examples * asked)
        own = [
            Product("W_Q", some, d, d),
            Product("W_K", every, d, d),
            Product("W_V", every, d, d),
            Product("attention logits", asked, d // heads, length, examples * heads),
            Product("attention", asked, length, d // heads, examples * heads),
        ]
        if heads > 1:
            own.append(Product("W_O", examples * asked, d, d))
        own += [Product("W_in", examples * asked, d, hidden), Product("W_out", examples * asked, hidden, d)]
        found += [product._replace(name=f"{product.name}, layer {layer + 1}") for product in own]
    answers = examples * (length if shape.every_position else 1)
    return [*found, Product("W_U", answers, d, shape.classes)]


def multiply_adds(config: RunConfig, first_layer: FirstLayer = "product") -> int:
    """Multiply-adds of all matrix products of a run-step."""
    return sum(product.multiply_adds for product in products(config, first_layer))


def lookups(config: RunConfig, first_layer: FirstLayer = "product") -> int:
    """Numbers that a run-step reads from tables (or adds to their gradient): forward once and backward twice."""
    model, shape = _transformer(config), config.task.shape
    width = model.heads + model.d + (model.d_mlp if first_layer == "table" else 0)
    if model.scope == "causal":
        width = 4 * model.d if first_layer == "table" else model.d
    return 3 * _examples(config) * shape.length * width


def bytes_moved(config: RunConfig) -> dict[str, int]:
    """Bytes that must cross memory in a run-step, by what they are: data are read, weights and optimizer state read and written,
    the tables written and read, forward and backward. Rows that are looked up again come from a cache."""
    model, shape = _transformer(config), config.task.shape
    examples, rows = _examples(config), _table_rows(config)
    reads = examples * shape.length
    weights = [torch.zeros(p.shape) for p in model.parameters(shape).values()]
    states = [config.optim.init(weight, "matrix").values() for weight in weights]
    table = model.d if model.scope == "causal" else model.d + model.heads
    return {
        "plan of look-ups": INDEX * (2 * reads + rows),
        "labels": INDEX * examples * (shape.length if shape.every_position else 1),
        "target of attention": FLOAT * reads,
        "weights": 2 * FLOAT * sum(weight.numel() for weight in weights),
        "optimizer state": 2 * FLOAT * sum(tensor.numel() for state in states for tensor in state),
        "tables": 4 * FLOAT * rows * table,
    }


def bytes_layered(config: RunConfig, element: int = FLOAT) -> int:
    """The same if every layer is a kernel of its own: activations (of `element` bytes per number) cross memory as well."""
    model = _transformer(config)
    activations = sum(p.batch * p.rows * p.columns for p in products(config))
    if model.scope == "query":
        activations += _examples(config) * model.d  # x, pooled from the table
    return sum(bytes_moved(config).values()) + PASSES * element * activations


def _transformer(config: RunConfig) -> Transformer:
    if not isinstance(config.model, Transformer):
        raise ConfigError("model", f"operations are counted for the transformer only, and this is {config.model.kind}")
    return config.model


def _examples(config: RunConfig) -> int:
    return config.batch_size or config.task.shape.train_size


def _table_rows(config: RunConfig) -> int:
    shape = config.task.shape
    return math.prod((shape.vocabulary, max(shape.length, shape.test_length)))
