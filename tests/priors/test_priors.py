"""Priors: penalties by hand, gradients against Eq. 45, schedules, constraints."""

import math

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import batch_of, with_plan
from grokscope.fleet.forward import Forward
from grokscope.models import Output
from grokscope.models.transformer import Transformer
from grokscope.priors.base import pooled_log_attention
from grokscope.priors.constraints import Constraints
from grokscope.priors.entropy import Entropy
from grokscope.priors.kl import KL
from grokscope.priors.noise import Noise
from grokscope.priors.sparsity import Sparsity
from grokscope.priors.support_size import SupportSize
from grokscope.randomness import Key
from grokscope.tasks import Examples
from grokscope.tasks.modular import Modular

KEY = Key(torch.tensor(3), torch.tensor(5))
INFORMATIVE = torch.tensor([[True, True, False, False, False]])
EXAMPLES = Examples(torch.zeros(1, 5, dtype=torch.long), torch.zeros(1, dtype=torch.long), INFORMATIVE)


def output(logits):
    log_attention = torch.log_softmax(logits, -1)
    return Output(None, log_attention.exp(), log_attention, logits, None)


def random_output(examples=4, heads=1, positions=5, seed=0):
    return output(
        torch.randn(examples, heads, positions, generator=torch.Generator().manual_seed(seed)).requires_grad_()
    )


def test_kl_to_the_oracle_by_hand():
    """α uniform over 5, α* = ½ on two: KL = log(5/2)."""
    out = output(torch.zeros(1, 1, 5))
    target = KL().target_for(EXAMPLES, 0)
    assert target.tolist() == [[0.5, 0.5, 0, 0, 0]]
    assert KL().penalty(out, target, KEY).item() == pytest.approx(math.log(5 / 2))


@pytest.mark.parametrize("target", ["oracle", "adversarial", "uniform", "random"])
def test_the_constant_gradient_is_that_of_the_penalty(target):
    prior = KL(target=target)
    wanted = prior.target_for(EXAMPLES, 0).expand(4, 5)
    log_attention = random_output().log_attention.detach().requires_grad_()
    penalty = prior.penalty(Output(None, log_attention.exp(), log_attention, None, None), wanted, KEY)
    (gradient,) = torch.autograd.grad(penalty, log_attention)
    torch.testing.assert_close(prior.constant_gradient(wanted), gradient[:, 0])


def test_a_prior_with_another_penalty_has_no_constant_gradient_of_kl():
    class Twice(KL):
        def penalty(self, out, target, key):
            return 2 * super().penalty(out, target, key)

    assert Twice().constant_gradient(torch.ones(4, 5)) is None


def test_targets_by_hand():
    assert KL(target="adversarial").target_for(EXAMPLES, 0).tolist() == [[0, 0, 0.5, 0.5, 0]]
    assert KL(target="uniform").target_for(EXAMPLES, 0).tolist() == [[pytest.approx(0.2)] * 5]
    first, again, other = (KL(target="random").target_for(EXAMPLES, seed) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("target", ["oracle", "adversarial", "uniform", "random"])
def test_kl_gradient_is_equation_45(target):
    out = random_output()
    wanted = KL(target=target).target_for(Examples(None, None, INFORMATIVE.expand(4, 5)), 0)
    (gradient,) = torch.autograd.grad(KL().penalty(out, wanted, KEY), out.attention_logits)
    torch.testing.assert_close(gradient[:, 0], (out.attention[:, 0] - wanted) / 4)


def test_kl_of_several_heads_pools_them():
    out = random_output(heads=3)
    torch.testing.assert_close(pooled_log_attention(out).exp(), out.attention.mean(1))


def test_kl_keeps_its_gradient_where_attention_vanishes():
    """At ℓ = −200 the weight underflows to 0 in float32; the pull towards it must not."""
    logits = torch.tensor([[[-200.0, 0.0, 0.0, 0.0, 0.0]]], requires_grad=True)
    (gradient,) = torch.autograd.grad(KL().penalty(output(logits), KL().target_for(EXAMPLES, 0), KEY), logits)
    assert gradient[0, 0, 0].item() == pytest.approx(-0.5)
    assert gradient.isfinite().all()


def test_entropy_by_hand():
    assert Entropy().penalty(output(torch.zeros(2, 1, 5)), None, KEY).item() == pytest.approx(math.log(5))


def test_sparsity_by_hand():
    out = output(torch.zeros(2, 1, 4))
    assert Sparsity(norm="half").penalty(out, None, KEY).item() == pytest.approx(4 * 0.5)
    assert Sparsity(norm="negative-l2").penalty(out, None, KEY).item() == pytest.approx(-4 / 16)


def test_noise_has_the_size_of_the_kl_gradient_and_changes_every_step():
    target = KL().target_for(Examples(None, None, INFORMATIVE.expand(4, 5)), 0)
    gradients = []
    for step in (0, 0, 1):
        out = random_output()
        key = Key(torch.tensor(3), torch.tensor(step))
        (gradient,) = torch.autograd.grad(Noise().penalty(out, target, key), out.attention_logits)
        gradients.append(gradient)
    wanted = (out.attention[:, 0] - target).norm(dim=-1) / 4
    torch.testing.assert_close(gradients[0][:, 0].norm(dim=-1), wanted)
    assert torch.equal(gradients[0], gradients[1])
    assert not torch.allclose(gradients[0], gradients[2])


def test_support_size_by_hand():
    """Two of five positions matter: log 2 is wanted; uniform attention has log 5, one token has 0, the oracle is at the optimum."""
    target = KL().target_for(EXAMPLES, 0)
    penalty = {
        name: SupportSize().penalty(output(torch.tensor([[logits]])), target, KEY).item()
        for name, logits in {
            "uniform": [0.0, 0, 0, 0, 0],
            "one": [50.0, 0, 0, 0, 0],
            "oracle": [50.0, 50, 0, 0, 0],
            "two others": [0.0, 0, 50, 50, 0],
        }.items()
    }
    assert penalty["uniform"] == pytest.approx(math.log(5 / 2))
    assert penalty["one"] == pytest.approx(math.log(2))
    assert penalty["oracle"] == pytest.approx(0, abs=1e-6)
    assert penalty["two others"] == pytest.approx(0, abs=1e-6)


def test_noise_shared_by_all_examples_has_the_size_of_the_kl_gradient_in_each_and_in_their_mean():
    target = KL().target_for(Examples(None, None, INFORMATIVE.expand(400, 5)), 0)
    sizes = {"example": [], "step": []}
    for drawn, found in sizes.items():
        for step in range(200):
            out = output(torch.zeros(400, 1, 5).requires_grad_())
            key = Key(torch.tensor(3), torch.tensor(step))
            penalty = Noise(drawn=drawn).penalty(out, target, key)
            (gradient,) = torch.autograd.grad(penalty, out.attention_logits)
            each = 400 * gradient[:, 0].norm(dim=-1)
            torch.testing.assert_close(each, (out.attention[:, 0] - target).norm(dim=-1).detach())
            found.append(gradient.sum(0))
    kl = (output(torch.zeros(400, 1, 5)).attention[:, 0] - target).mean(0).norm()
    mean_size = {drawn: torch.stack([g.norm() for g in found]).mean() for drawn, found in sizes.items()}
    assert mean_size["step"] == pytest.approx(kl.item(), rel=1e-5)
    assert mean_size["example"] < kl / 10  # drawn for each example it cancels in the mean
    drift = torch.stack(sizes["step"]).mean(0).norm()
    assert drift < kl / 4  # over the steps it has no direction


def test_noise_on_the_query_and_key_matrices_is_as_large_as_the_gradient_of_kl():
    config = RunConfig(task=Modular(p=23, alphabet=8), model=Transformer(d=32, d_mlp=64), precision="float32")
    split = config.task.split(0).train
    weights = config.model.init(config.task.shape, torch.Generator().manual_seed(0))
    weights = {name: weight.requires_grad_() for name, weight in weights.items()}
    batch = with_plan(batch_of(config, split), config.task.shape.vocabulary, config.task.shape.length)
    target = KL().target_for(split, 0)

    def sizes(prior, step):
        out = Forward(config)(weights, batch)
        penalty = prior.penalty(out, target, Key(torch.tensor(3), torch.tensor(step)))
        return torch.stack([g.norm() for g in torch.autograd.grad(penalty, [weights["W_Q"], weights["W_K"]])])

    kl = sizes(KL(), 0)
    noise = {d: torch.stack([sizes(Noise(drawn=d), step) for step in range(50)]).mean(0) for d in ("example", "step")}
    assert (noise["step"] / kl > 0.5).all() and (noise["step"] / kl < 1.5).all()
    assert (noise["example"] / kl < 0.2).all()


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [2.0, 2.0, 2.0, 2.0]),
        ("anneal", [2.0, 1.5, 0.0, 0.0]),
        ("late", [0.0, 0.0, 2.0, 2.0]),
        ("pulse", [2.0, 2.0, 0.0, 0.0]),
    ],
)
def test_schedules(schedule, expected):
    prior = KL(beta=2.0, schedule=schedule, span=100.0)
    assert [prior.weight(torch.tensor(epoch)).item() for epoch in (0.0, 25.0, 100.0, 200.0)] == expected


def test_norm_matching_projects_the_mlp_only():
    model_weights = {"W_in": torch.ones(2, 2), "W_out": torch.ones(2, 2), "W_Q": torch.ones(2, 2)}
    from grokscope.models import Parameter

    parameters = {n: Parameter((2, 2), "matrix", 1.0, "attention" if n == "W_Q" else "mlp") for n in model_weights}
    projected = Constraints(norm=2.0).project(model_weights, parameters)
    assert torch.stack([projected["W_in"], projected["W_out"]]).norm().item() == pytest.approx(2.0)
    assert torch.equal(projected["W_Q"], model_weights["W_Q"])


@pytest.mark.parametrize(
    ("prior", "field"),
    [
        (KL(beta=-1.0), "beta"),
        (KL(span=0.0), "span"),
        (KL(target="teacher"), "teacher"),
        (Constraints(norm=-1.0), "norm"),
        (Constraints(qk_penalty=-1.0), "qk_penalty"),
    ],
)
def test_impossible_settings(prior, field):
    with pytest.raises(ConfigError) as error:
        prior.check()
    assert error.value.field == field


def test_an_adversarial_target_needs_a_distractor():
    with pytest.raises(ConfigError, match="distractor"):
        KL(beta=1.0, target="adversarial").check_task(Modular(p=5, distractors=0))
