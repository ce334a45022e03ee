"""Which tokens inform, which positions ask, what is padding: every form in which it may be given."""

import pytest
import torch
from networks import LENGTH, batch, build

import grokscope
from grokscope.theory import divergence, log_mean_attention, oracle_target

MASK = torch.tensor([True, True, False, False, False])


@pytest.fixture(scope="module")
def alpha():
    """All attention of a network on a batch, [batch head query position], averaged over layers and heads."""
    network = build("sdpa").model
    with torch.no_grad(), grokscope.watch(network, query=range(LENGTH)) as scope:
        network(batch()[0])
    return scope.attention.unflatten(0, (6, LENGTH)).mean(2)


def scope_on(tokens=None, **how):
    model = build("sdpa").model
    with torch.no_grad(), grokscope.watch(model, **how) as scope:
        model(batch()[0] if tokens is None else tokens)
    return scope


def expected(alpha, rows, mask):
    """D at the chosen rows [example position]."""
    target = oracle_target(mask)
    hidden = rows == 0
    return divergence(target, rows.masked_fill(hidden, 1e-30).log()).mean().item()


@pytest.mark.parametrize(
    "given",
    [
        MASK,
        [True, True, False, False, False],
        MASK.expand(6, -1),
        MASK.expand(6, 1, -1),
        lambda tokens: MASK,
        lambda tokens: torch.arange(LENGTH).expand(tokens.shape) < 2,
    ],
    ids=["position", "list", "batch", "query", "function", "function-of-batch"],
)
def test_masks_that_say_the_same(alpha, given):
    assert scope_on(informative=given).D == pytest.approx(expected(alpha, alpha[:, -1], MASK.expand(6, -1)), rel=1e-5)


def test_masks_that_differ_between_sequences(alpha):
    mask = torch.arange(LENGTH) == torch.arange(6)[:, None] % 4
    assert scope_on(informative=mask).D == pytest.approx(expected(alpha, alpha[:, -1], mask), rel=1e-5)


@pytest.mark.parametrize("ids", [[3, 7], {3, 7}, torch.tensor([3, 7])], ids=["list", "set", "tensor"])
def test_token_ids(ids):
    tokens = batch()[0].clamp(max=2)
    tokens[:, 0], tokens[:3, 2], tokens[3:, 3] = 3, 7, 7
    by_id, by_mask = scope_on(tokens, informative=ids), scope_on(tokens, informative=(tokens == 3) | (tokens == 7))
    assert by_id.D == by_mask.D and by_id.mass == by_mask.mass


def test_several_queries_per_sequence(alpha):
    rows = alpha[:, [2, 4]].flatten(0, 1)
    scope = scope_on(informative=MASK, query=[2, -1])
    assert scope.attention.shape == (12, 4, LENGTH)
    assert scope.D == pytest.approx(expected(alpha, rows, MASK.expand(12, -1)), rel=1e-5)
    assert scope_on(informative=MASK, query=torch.tensor([[2, 4]]).expand(6, -1)).D == pytest.approx(scope.D)
    chosen = torch.tensor([False, False, True, False, True])
    assert scope_on(informative=MASK, query=chosen).D == pytest.approx(scope.D)


def test_another_mask_for_each_query(alpha):
    masks = torch.stack([torch.tensor([1, 0, 0, 0, 0]), torch.tensor([0, 1, 1, 0, 0])]).bool().expand(6, -1, -1)
    scope = scope_on(informative=masks, query=[2, 4])
    rows = alpha[:, [2, 4]].flatten(0, 1)
    assert scope.D == pytest.approx(expected(alpha, rows, masks.flatten(0, 1)), rel=1e-5)


def test_different_numbers_of_queries(alpha):
    chosen = torch.zeros(6, LENGTH, dtype=torch.bool)
    chosen[0, 1:], chosen[3, 4] = True, True
    scope = scope_on(informative=torch.tensor([1, 0, 0, 0, 0]).bool(), query=lambda tokens: chosen)
    assert scope.attention.shape[0] == 5
    mask = torch.tensor([1, 0, 0, 0, 0]).bool().expand(5, -1)
    assert scope.D == pytest.approx(expected(alpha, alpha[chosen], mask), rel=1e-5)


def padded():
    tokens = batch()[0].clamp(min=1)
    lengths = torch.tensor([5, 3, 4, 5, 3, 4])
    tokens[torch.arange(LENGTH) >= lengths[:, None]] = 0
    return tokens, lengths


def test_the_last_token_before_the_padding_asks():
    tokens, lengths = padded()
    last = (lengths - 1)[:, None]
    plain = scope_on(tokens, informative=MASK, query=last)
    assert scope_on(tokens, informative=MASK, padding=0).D == plain.D
    assert scope_on(tokens, informative=MASK, padding=tokens == 0).D == plain.D
    assert scope_on(tokens, informative=MASK, padding=lambda tokens: tokens == 0).D == plain.D
    assert scope_on(tokens, informative=MASK).D != plain.D


def test_padding_informs_nobody():
    tokens, lengths = padded()
    everything = scope_on(tokens, informative=torch.ones(LENGTH).bool(), padding=0)
    real = torch.arange(LENGTH) < lengths[:, None]
    assert everything.D == scope_on(tokens, informative=real, query=(lengths - 1)[:, None]).D


def test_an_attention_mask_is_padding():
    tokens, lengths = padded()
    network = build("gpt2-sdpa")
    network.kwargs["attention_mask"] = (tokens != 0).long()
    with torch.no_grad(), grokscope.watch(network.model, informative=MASK) as scope:
        network(tokens)
        own = scope.D
        assert not scope.attention[lengths == 3][..., 3:].any()
    with torch.no_grad(), grokscope.watch(network.model, informative=MASK, query=(lengths - 1)[:, None]) as scope:
        network(tokens)
        assert scope.D == own


def test_masked_positions_leave_the_variance_of_logits_unknown():
    model, labels = build("sdpa").model, batch()[1]
    with grokscope.watch(model, informative=torch.tensor([1, 0, 0, 0, 0]).bool(), query=2, every=1) as scope:
        loss = torch.nn.functional.cross_entropy(model(batch()[0])[:, 2], labels)
        loss.backward()
        row = scope.step(loss=loss)
    assert row["logit_variance"] != row["logit_variance"]
    assert row["entropy"] == pytest.approx(scope.entropy) and row["D"] == pytest.approx(scope.D)
    pooled = log_mean_attention(scope.attention[..., :3].log()).exp()
    assert [row[f"attention_{j}"] for j in range(5)] == pytest.approx([*pooled.mean(0).tolist(), 0, 0], rel=1e-5)
