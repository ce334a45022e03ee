"""Pooling and logits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from theory_cases import Draw, seeds, some
from torch.testing import assert_close

from grokscope.papers.structural_inference.equations import attention_logits, pooled


@pytest.mark.equation("structural-inference", "9")
def test_pooling_by_hand() -> None:
    values = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    assert_close(pooled(torch.tensor([0.25, 0.75]), values), torch.tensor([1.0, 6.0]))


@pytest.mark.equation("structural-inference", "9")
@some
@given(seed=seeds)
def test_the_pooled_value_stays_among_the_values(seed: int) -> None:
    draw = Draw(seed)
    values, h = (values := draw.values()), pooled(draw.attention(), values)
    assert (h <= values.amax(-2) + 1e-9).all() and (h >= values.amin(-2) - 1e-9).all()


@pytest.mark.equation("structural-inference", "38")
def test_logits_by_hand() -> None:
    # M turns the query (1, 2) into (2, 1, …): eᵀM e_j / √2 with keys (1, 0) and (0, 4)
    interaction = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    keys = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    assert_close(attention_logits(torch.tensor([1.0, 2.0]), keys, interaction), torch.tensor([2.0, 4.0]) / math.sqrt(2))


@pytest.mark.equation("structural-inference", "38")
@some
@given(seed=seeds)
def test_logits_are_scaled_products_of_queries_and_keys(seed: int) -> None:
    draw = Draw(seed)
    d = draw.width
    query, keys, W_Q, W_K = draw.normal(d), draw.normal(draw.positions, d), draw.normal(d, d), draw.normal(d, d)
    q, k = torch.einsum("nij,nj->ni", W_Q, query), torch.einsum("nij,npj->npi", W_K, keys)
    by_definition = torch.einsum("ni,npi->np", q, k) / math.sqrt(d)
    assert_close(attention_logits(query, keys, W_Q.mT @ W_K), by_definition, rtol=1e-9, atol=1e-9)
