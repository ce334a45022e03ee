"""Numbers of a scope against numbers computed another way."""

import pytest
import torch
import torch.nn.functional as F
from networks import HEADS, LENGTH, ByHand, D, MinGPT, Network, batch, build

import grokscope
from grokscope.attach.sights import ScoreSight, WeightSight, log_attention
from grokscope.priors import priors
from grokscope.priors.kl import KL
from grokscope.priors.sparsity import Sparsity
from grokscope.theory import divergence, kl_logit_gradient, least_mass, log_mean_attention, oracle_target

INFORMATIVE = torch.tensor([True, True, False, False, False])


def step(network, beta=0.0, **how):
    tokens, labels = batch()
    with grokscope.watch(network.model, informative=INFORMATIVE, every=1, **how) as scope:
        loss = F.cross_entropy(network(tokens)[:, -1], labels) + scope.prior(beta)
        loss.backward()
        row = scope.step(loss=loss)
    return row, scope


def by_hand(layers=1):
    torch.manual_seed(0)
    one = MinGPT(layers)
    other = MinGPT(layers, attention=ByHand)
    other.load_state_dict(one.state_dict())
    return one, other


def test_one_layer_by_hand():
    """Attention, D, mass, the gradient on logits and on M, from the same network written step by step."""
    one, other = by_hand()
    tokens, labels = batch()
    row, scope = step(Network(one, 1))
    x = (other.embed(tokens) + other.places).detach()
    read = other.blocks[0].norm(x).detach()
    width = D // HEADS
    W = other.blocks[0].attn.qkv
    probes = torch.zeros(HEADS, D, D, requires_grad=True)
    q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in W(read).chunk(3, -1))
    scores = (q @ k.mT + torch.einsum("bqd,hde,bje->bhqj", read, probes, read)) / width**0.5
    scores = scores.masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), -torch.inf)
    scores.retain_grad()
    alpha = scores.softmax(-1)
    stream = x + other.blocks[0].attn.proj((alpha @ v).transpose(1, 2).flatten(2))
    loss = F.cross_entropy(other.head(stream + other.blocks[0].mlp(stream))[:, -1], labels)
    loss.backward()
    # of the query alone: the other positions are not read
    assert not scores.grad[:, :, :-1].any()
    log = alpha[:, :, -1].detach().log()
    mask = INFORMATIVE.expand(6, -1)
    pooled = log_mean_attention(log)
    torch.testing.assert_close(scope.attention, alpha[:, :, -1].detach())
    assert row["train_loss"] == pytest.approx(loss.item(), rel=1e-6)
    assert row["D"] == pytest.approx(divergence(oracle_target(mask), pooled).mean().item(), rel=1e-5)
    assert row["mass_mean"] == pytest.approx(least_mass(pooled.exp(), mask).mean().item(), rel=1e-5)
    assert row["grad_logit"] == pytest.approx(6 * scores.grad.abs().max().item(), rel=1e-4)
    assert row["grad_M"] == pytest.approx(probes.grad.norm().item(), rel=1e-4)
    assert row["attention_0"] == pytest.approx(pooled.exp()[:, 0].mean().item(), rel=1e-5)
    assert scope.D == pytest.approx(row["D"]) and scope.mass == pytest.approx(row["mass_mean"])


@pytest.mark.parametrize("kinds", [("gpt2-sdpa", "gpt2-eager"), ("llama-sdpa", "llama-eager")])
def test_two_implementations_of_one_network_give_one_row(kinds):
    """One recomputes logits and applies the chain rule, the other reads both from the graph."""
    (one, _), (two, _) = (step(build(kind), beta=0.4) for kind in kinds)
    assert one.keys() == two.keys()
    numbers = [name for name in one if name not in ("seconds", "seconds_per_step")]
    assert [one[n] for n in numbers] == pytest.approx([two[n] for n in numbers], rel=1e-4, abs=1e-7, nan_ok=True)
    assert one["grad_M"] > 0 and one["grad_logit"] > 0


def test_logits_that_are_shown_give_the_row_of_those_that_are_found():
    one, other = by_hand(layers=2)
    found, _ = step(Network(one, 2))
    tokens, labels = batch()
    with grokscope.watch(other, informative=INFORMATIVE, every=1) as scope:
        for block in other.blocks:
            block.attn.scope = scope
        loss = F.cross_entropy(other(tokens)[:, -1], labels)
        loss.backward()
        shown = scope.step(loss=loss)
    common = [name for name in shown if name in found and not name.startswith(("seconds", "norm_"))]
    assert {"D", "D_layer_1", "entropy", "grad_logit", "grad_M", "mlp_norm"} <= set(common)
    assert [shown[n] for n in common] == pytest.approx([found[n] for n in common], rel=1e-4, abs=1e-7, nan_ok=True)


def test_logits_of_the_query_alone():
    """After the pass, from a network that returns them."""

    class Pooling(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.score, self.head = torch.nn.Embedding(11, D), torch.nn.Linear(D, 1), torch.nn.Linear(D, 11)

        def forward(self, tokens):
            x = self.embed(tokens)
            scores = self.score(x).squeeze(-1)
            return x, scores

    torch.manual_seed(0)
    net, (tokens, labels) = Pooling(), batch()
    with grokscope.watch(net, informative=INFORMATIVE, every=1) as scope:
        x, scores = net(tokens)
        used = scope.see(scores)
        used.retain_grad()
        loss = F.cross_entropy(net.head((used.softmax(-1).unsqueeze(-1) * x).sum(1)), labels) + scope.prior(0.5)
        loss.backward()
        row = scope.step(loss=loss)
    expected = divergence(oracle_target(INFORMATIVE.expand(6, -1)), scores.detach().log_softmax(-1)).mean()
    assert row["D"] == pytest.approx(expected.item(), rel=1e-5)
    assert row["grad_logit"] == pytest.approx(6 * used.grad.abs().max().item(), rel=1e-5)
    assert "grad_M" not in row  # nothing is known of what made the logits


def test_the_prior_on_the_logits_is_equation_45():
    scores = torch.randn(6, 1, 1, LENGTH, generator=torch.Generator().manual_seed(0), requires_grad=True)
    net = torch.nn.Identity()
    with grokscope.watch(net, informative=INFORMATIVE) as scope:
        net(scores)
        scope.see(scores)
        scope.prior(beta=0.3).backward()
    expected = (
        0.3
        / 6
        * kl_logit_gradient(scores.detach().softmax(-1), oracle_target(INFORMATIVE.expand(6, -1))[:, None, None])
    )
    torch.testing.assert_close(scores.grad, expected)


def test_the_prior_on_each_head_is_the_mean_of_their_divergences():
    network = build("sdpa")
    tokens, _ = batch()
    with grokscope.watch(network.model, informative=INFORMATIVE) as scope:
        network(tokens)
        each, mean = scope.prior(1.0, on="each"), scope.prior(1.0)
        log, target = scope.attention.log(), oracle_target(INFORMATIVE.expand(6, -1))
    expected = divergence(target[:, None].expand_as(log), log).mean()
    torch.testing.assert_close(each.detach(), expected)
    assert each > mean  # KL is convex


def test_other_priors_and_schedules():
    network = build("sdpa")
    tokens, _ = batch()
    with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
        network(tokens)
        full = scope.prior(KL(beta=1.0, schedule="anneal", span=2)).item()
        assert scope.prior(Sparsity(beta=0.1)).item() == pytest.approx(
            0.1 * scope.attention.sqrt().sum(-1).mean().item(), rel=1e-5
        )
        scope.step(train_loss=1.0)
        network(tokens)
        assert scope.prior(KL(beta=1.0, schedule="anneal", span=2)).item() == pytest.approx(full / 2, rel=1e-5)
        scope.step(train_loss=1.0)
        network(tokens)
        assert scope.prior(KL(beta=1.0, schedule="anneal", span=2)).item() == 0
        away = scope.prior(KL(beta=1.0, target="adversarial")).item()
    target = torch.tensor([0, 0, 0.5, 0.5, 0]).expand(6, -1)
    expected = divergence(target, log_mean_attention(scope.attention.log())).mean().item()
    assert away == pytest.approx(expected, rel=1e-5)
    assert scope.rows[0]["prior_loss"] > full  # both priors of that step


def test_layers_and_heads_are_chosen():
    network, (tokens, _) = build("gpt2-sdpa"), batch()
    alphas = {}
    for key, how in {"all": {}, "last": {"layers": -1}, "name": {"layers": "h.0.attn"}, "head": {"heads": [1]}}.items():
        with grokscope.watch(network.model, informative=INFORMATIVE, **how) as scope:
            network(tokens)
            alphas[key] = scope.attention
    torch.testing.assert_close(alphas["all"], torch.cat([alphas["name"], alphas["last"]], 1))
    torch.testing.assert_close(alphas["all"][:, [1, 3]], alphas["head"])


def test_gradients_are_divided_by_the_scale_of_the_loss():
    rows = []
    for scale in (1.0, 1024.0):
        network, (tokens, labels) = build("sdpa"), batch()
        with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
            loss = F.cross_entropy(network(tokens)[:, -1], labels)
            (scale * loss).backward()
            rows.append(scope.step(loss=loss, grad_scale=scale))
    assert rows[0]["grad_logit"] == pytest.approx(rows[1]["grad_logit"], rel=1e-5)
    assert rows[0]["grad_M"] == pytest.approx(rows[1]["grad_M"], rel=1e-5)


def test_an_evaluation_between_backward_and_step_does_not_count():
    network, (tokens, labels) = build("sdpa"), batch()
    row, _ = step(network)
    network = build("sdpa")
    with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
        loss = F.cross_entropy(network(tokens)[:, -1], labels)
        loss.backward()
        network(batch(seed=5)[0][:3])  # with gradients enabled, and of another size
        other = scope.step(loss=loss)
    assert other["D"] == row["D"] and other["grad_logit"] == row["grad_logit"]


def test_attention_dropout_hides_the_gradient_and_says_so(capsys):
    network = build("sdpa", dropout=0.5)
    row, _ = step(network)
    assert "grad_logit" not in row and row["D"] > 0
    assert (
        capsys.readouterr().err == "blocks.1.attn: attention dropout is on: the gradient on attention is not measured\n"
    )


def test_weights_alone_give_the_numbers_of_their_logits():
    """Where only α is known: log α differs from the logits by a constant."""
    rows = torch.tensor([[4], [2]])
    scores = torch.randn(2, 3, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scores = scores.masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), -torch.inf).requires_grad_()
    weights = scores.softmax(-1)
    known, derived = ScoreSight("a", scores), WeightSight("a", weights)
    for sight, of in ((known, scores), (derived, weights)):
        sight.keep_gradient(of)
    (weights.square() * torch.arange(LENGTH)).sum().backward()
    for one, two in zip(log_attention(known.scores(rows)), log_attention(derived.scores(rows)), strict=True):
        torch.testing.assert_close(one, two)
    torch.testing.assert_close(derived.score_gradient(rows), known.score_gradient(rows))


def test_a_row_without_a_backward_pass_says_what_is_missing(capsys):
    network, (tokens, _) = build("sdpa"), batch()
    with grokscope.watch(network.model, informative=INFORMATIVE, every=1) as scope:
        network(tokens)
        row = scope.step(train_loss=1.0)
    assert "grad_logit" not in row and "D" in row
    told = capsys.readouterr().err
    assert told == "blocks.1.attn: no backward pass has reached it: the gradient on attention is not measured\n"


@pytest.mark.parametrize("kind", priors.entries())
def test_every_prior_can_guide(kind):
    network, (tokens, _) = build("sdpa"), batch()
    with grokscope.watch(network.model, informative=INFORMATIVE) as scope:
        network(tokens)
        term = scope.prior(priors.get(kind)(beta=0.2))
        term.backward()
    assert term.isfinite()
    assert network.model.blocks[1].attn.qkv.weight.grad.norm() > 0
