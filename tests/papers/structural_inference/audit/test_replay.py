"""γ of a net made by hand, and the proved inequality (Eq. 27) on nets that are not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grokscope.config import RunConfig
from grokscope.models.transformer import Transformer
from grokscope.papers.structural_inference.audit.pairs import pairs_of
from grokscope.papers.structural_inference.audit.replay import delta_nec, replay
from grokscope.priors.constraints import Constraints
from grokscope.run import Network
from grokscope.tasks.modular import Modular

TINY = RunConfig(
    task=Modular(p=2, distractors=0, train_size=1), model=Transformer(d=2, d_mlp=2, readout="minimal"), seed=0
)
"""Sequences a, b, "=" with a, b in {0, 1}: three of the four are for testing."""


def by_hand() -> dict[str, torch.Tensor]:
    """Attention 1/3 everywhere, values 3 for the token 1 and 0 else: h = a + b, and f(h) = 2h."""
    return {
        "W_E": torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 0.0]]),
        "W_pos": torch.zeros(3, 2),
        "W_Q": torch.zeros(2, 2),
        "W_K": torch.zeros(2, 2),
        "W_V": torch.eye(2),
        "W_in": torch.eye(2),
        "W_out": torch.tensor([[2.0, 0.0], [0.0, 1.0]]),
    }


def test_gamma_by_hand():
    """c = 2 (a flip moves h by 1), L = 1 · 2, Δ_emb = 3 (a = 1, b = 0: v = 3, μ = 0), so γ = 2 / (2 · 3) = 1/3."""
    found = replay(Network(config=TINY, weights=by_hand()), 7, pairs_of(TINY))
    assert found.epoch == 7
    assert found.margin == pytest.approx(2)
    assert found.lipschitz == pytest.approx(2, rel=1e-3)
    assert found.lipschitz_sampled == pytest.approx(2)
    assert found.spread == pytest.approx(3)
    assert found.gamma == pytest.approx(1 / 3, rel=1e-3)
    assert found.gamma_sampled == pytest.approx(1 / 3)
    assert found.mass_worst == pytest.approx(1 / 3)
    assert found.pair_least == pytest.approx(2 / 3)
    assert found.divergence_worst == pytest.approx(math.log(3 / 2))
    labels = TINY.task.split(0).test.labels
    assert found.accuracy == pytest.approx((labels == 0).double().mean().item())  # the first logit is never the smaller


def test_delta_nec_by_hand():
    assert delta_nec(2, 1 / 3) == pytest.approx(math.log(1.5))
    assert delta_nec(2, 0.6) < 0


def test_a_net_that_tells_nothing_apart_has_no_gamma():
    silent = by_hand() | {"W_out": torch.zeros(2, 2)}
    found = replay(Network(config=TINY, weights=silent), 1, pairs_of(TINY))
    assert found.margin == 0
    assert found.gamma is None
    assert found.gamma_sampled is None


def test_attention_on_one_position_alone_leaves_the_spread_finite():
    """Logits 0 and ±50·9: α_a is 1 to rounding, and the centroid of the others still exists."""
    sharp = by_hand() | {
        "W_E": torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]]),
        "W_pos": torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
        "W_Q": torch.tensor([[0.0, 0.0], [400.0, 0.0]]),
        "W_K": torch.eye(2),
    }
    found = replay(Network(config=TINY, weights=sharp), 1, pairs_of(TINY))
    assert math.isfinite(found.spread)
    assert found.spread > 0


def test_frozen_attention_is_replayed_as_it_was():
    frozen = replace(TINY, constraint=Constraints(attention="oracle"))
    found = replay(Network(config=frozen, weights=by_hand()), 1, pairs_of(frozen))
    assert found.mass_worst == pytest.approx(0.5)
    assert found.divergence_worst == pytest.approx(0, abs=1e-9)


@given(
    seed=st.integers(0, 10**6),
    heads=st.sampled_from([1, 2]),
    attention=st.sampled_from(["softmax", "linear"]),
    readout=st.sampled_from(["minimal", "residual"]),
    scope=st.sampled_from(["query", "causal"]),
    scale=st.sampled_from([0.3, 1.0, 4.0]),
)
@settings(max_examples=25)
def test_the_pair_condition_holds_for_every_net(seed, heads, attention, readout, scope, scale):
    """Eq. 27 is proved: no net, trained or not, may violate it with its own c, L_max and Δ_emb."""
    model = Transformer(d=4, d_mlp=6, heads=heads, attention=attention, readout=readout, scope=scope, init_scale=scale)
    config = RunConfig(task=Modular(p=4, distractors=1, alphabet=2, train_size=6), model=model)
    weights = model.init(config.task.shape, torch.Generator().manual_seed(seed))
    found = replay(Network(config=config, weights=weights), 0, pairs_of(config))
    assert found.lipschitz_sampled <= found.lipschitz * (1 + 1e-9)
    if found.gamma is not None:
        assert found.pair_least >= found.gamma * (1 - 1e-9)
        assert found.gamma_sampled >= found.gamma * (1 - 1e-9)
