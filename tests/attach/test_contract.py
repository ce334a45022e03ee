"""What holds of every adapter: nothing changes that was not asked for, and what is seen is what the network computes."""

import copy

import pytest
import torch
import torch.nn.functional as F
from networks import HEADS, LENGTH, NETWORKS, SYMBOLS, D, Network, batch, build

import grokscope
from grokscope.attach.adapters import adapters

INFORMATIVE = torch.tensor([True, True, False, False, False])
ALL = sorted(NETWORKS)


@pytest.fixture(params=ALL)
def network(request):
    return build(request.param)


def loss_of(network, tokens, labels):
    return F.cross_entropy(network(tokens)[:, -1].float(), labels)


def gradients(network):
    found = {name: weight.grad for name, weight in network.model.named_parameters()}
    network.model.zero_grad(set_to_none=True)
    return found


def same(network, seen, plain):
    """Equal to the last digits."""
    assert seen.keys() == plain.keys()
    for name in plain:
        if plain[name] is None:
            assert seen[name] is None
        else:
            torch.testing.assert_close(seen[name], plain[name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_logits_loss_and_gradients_are_those_of_the_network_alone(name, dropout):
    network = build(name, dropout)
    tokens, labels = batch()
    torch.manual_seed(1)
    plain = network(tokens).detach()
    torch.manual_seed(2)
    plain_loss = loss_of(network, tokens, labels)
    plain_loss.backward()
    expected = gradients(network)
    with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
        torch.manual_seed(1)
        torch.testing.assert_close(network(tokens).detach(), plain, rtol=1e-5, atol=1e-6)
        torch.manual_seed(2)
        loss = loss_of(network, tokens, labels) + scope.prior(beta=0)
        torch.testing.assert_close(loss, plain_loss)
        loss.backward()
        scope.step(loss=loss)
        same(network, gradients(network), expected)


def test_evaluation_without_gradients_is_unchanged(network):
    """Where PyTorch would take its fast path."""
    network.model.eval()
    tokens, _ = batch()
    with torch.no_grad():
        plain = network(tokens)
        with grokscope.watch(network.model, informative=INFORMATIVE) as scope:
            torch.testing.assert_close(network(tokens), plain, rtol=1e-5, atol=1e-6)
            assert scope.attention.shape == (6, network.layers * HEADS, LENGTH)
            assert 0 < scope.D < 3 and 0 < scope.mass < 0.5 and 0 < scope.entropy <= torch.tensor(5.0).log()


def test_a_later_token_never_reaches_an_earlier_one(network):
    network.model.eval()
    tokens, _ = batch()
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % SYMBOLS
    with grokscope.watch(network.model, informative=INFORMATIVE, query=[1, 2, 3, 4]) as scope, torch.no_grad():
        one, seen = network(tokens), scope.attention
        two = network(other)
    torch.testing.assert_close(one[:, :-1], two[:, :-1])
    assert not torch.allclose(one[:, -1], two[:, -1])
    seen = seen.unflatten(0, (6, 4))  # batch, query, head, position
    for place, query in enumerate([1, 2, 3, 4]):
        torch.testing.assert_close(seen[:, place].sum(-1), torch.ones(6, network.layers * HEADS))
        assert not seen[:, place, :, query + 1 :].any()


def test_gradients_of_the_prior_are_those_of_its_formula(network):
    """Against a small change of every weight, in double precision."""
    model = network.model.double()
    tokens, _ = batch()
    with grokscope.watch(model, informative=INFORMATIVE) as scope:
        network(tokens)
        scope.prior(beta=0.7).backward()
        name, weight = max(
            ((n, w) for n, w in model.named_parameters() if w.grad is not None), key=lambda pair: pair[1].grad.norm()
        )
        direction = weight.grad / weight.grad.norm()
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                weight += sign * 1e-4 * direction
                network(tokens)
                values.append(0.7 * scope.D)
                weight -= sign * 1e-4 * direction
    assert (values[0] - values[1]) / 2e-4 == pytest.approx(weight.grad.norm().item(), rel=1e-5), name


def test_the_gradient_on_attention_is_that_of_the_task(network):
    """∂loss/∂ℓ against a change of the loss, where a bias is added to the logits of the last layer; a prior does not count."""
    model = network.model.double()
    tokens, labels = batch()
    rows = {}
    for beta in (0.0, 0.5):
        with grokscope.watch(model, informative=INFORMATIVE, every=1) as scope:
            loss = loss_of(network, tokens, labels) + scope.prior(beta)
            loss.backward()
            rows[beta] = scope.step(loss=loss)
            found = scope._eye.last.used[-1].score_gradient(torch.full((6, 1), 4))
        model.zero_grad()
        # softmax does not see a constant
        torch.testing.assert_close(found.sum(-1), torch.zeros(6, HEADS, 1).to(found), atol=1e-9, rtol=0)
        assert rows[beta]["grad_logit"] == pytest.approx(6 * found.abs().max().item(), rel=1e-5)
    assert rows[0.0]["grad_logit"] == pytest.approx(rows[0.5]["grad_logit"], rel=1e-6)
    assert rows[0.0]["grad_M"] == pytest.approx(rows[0.5]["grad_M"], rel=1e-6)
    assert rows[0.5]["train_loss"] == pytest.approx(rows[0.0]["train_loss"], rel=1e-5)


def test_everything_is_restored(network):
    def hooks():
        return [
            (name, dict(module._forward_hooks), dict(module._forward_pre_hooks), module.__dict__.get("forward"))
            for name, module in network.model.named_modules()
        ]

    config = getattr(network.model, "config", None)
    implementation = getattr(config, "_attn_implementation", None)
    tokens = batch()[0]
    network(tokens)  # a bridge adds hooks of its own in its first pass
    before = hooks()
    with pytest.raises(ZeroDivisionError), grokscope.watch(network.model, informative=INFORMATIVE):
        network(tokens)
        raise ZeroDivisionError
    assert hooks() == before
    assert getattr(config, "_attn_implementation", None) == implementation
    assert torch.overrides._get_current_function_mode() is None
    grokscope.watch(network.model, informative=INFORMATIVE).open().close()  # it can be watched again


def test_an_error_inside_a_forward_pass_leaves_nothing_behind(network):
    tokens, _ = batch()
    with grokscope.watch(network.model, informative=INFORMATIVE) as scope:
        with pytest.raises(IndexError):
            network(tokens + SYMBOLS)
        assert torch.overrides._get_current_function_mode() is None
        network(tokens)
        assert scope.D > 0


def test_autocast(network):
    """Attention is read in float32 from what bf16 products gave."""
    tokens, labels = batch()
    with torch.autocast("cpu", torch.bfloat16):
        plain = network(tokens).detach()
        with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
            torch.testing.assert_close(network(tokens).detach(), plain, rtol=1e-2, atol=1e-2)
            loss = loss_of(network, tokens, labels) + scope.prior(beta=0.3)
            loss.backward()
            row = scope.step(loss=loss)
    assert scope.attention.dtype == torch.float32
    assert row["prior_loss"] == pytest.approx(0.3 * row["D"], rel=1e-4)
    assert all(w.grad.isfinite().all() for w in network.model.parameters() if w.grad is not None)


def test_a_copy_made_inside_works_afterwards(network):
    """As when weights are averaged or the best ones are kept."""
    tokens, _ = batch()
    network.model.eval()
    with torch.no_grad(), grokscope.watch(network.model, informative=INFORMATIVE):
        plain = network(tokens)
        other = copy.deepcopy(network.model)
    with torch.no_grad():
        torch.testing.assert_close(Network(other, network.layers, network.kwargs)(tokens), plain)


def test_descriptions_name_every_layer(network):
    scope = grokscope.watch(network.model, informative=INFORMATIVE)
    before = scope.describe().splitlines()
    with scope:
        network(batch()[0])
        after = scope.describe().splitlines()
    assert len(before) == len(after) == 1 + network.layers
    assert [line.split(":")[0] for line in before] == [line.split(":")[0] for line in after]
    assert all(f"{HEADS} heads" in line for line in before[1:] + after[1:])
    assert all("5 × 5; gradient" in line for line in after[1:])


def test_every_adapter_is_covered():
    used = {adapter.kind for name in ALL for adapter in grokscope.watch(build(name).model)._adapters}
    assert used == set(adapters.entries())


def test_the_norms_are_those_of_the_weights(network):
    tokens, labels = batch()
    with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
        loss = loss_of(network, tokens, labels)
        loss.backward()
        row = scope.step(loss=loss)
    weights = list(network.model.parameters())
    assert row["l2"] == pytest.approx(torch.stack([w.norm() for w in weights]).norm().item(), rel=1e-5)
    hidden = [w for w in weights if w.ndim == 2 and set(w.shape) in ({D, 4 * D}, {D, 32})]
    if hidden:  # of the two matrices of each MLP, and biases
        assert row["mlp_norm"] == pytest.approx(torch.stack([w.norm() for w in hidden]).norm().item(), rel=0.2)
