"""The transformer of grokking tickets against its equations on the operands alone, and its bounds against autograd."""

import math

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.models.ticket_transformer import TicketTransformer
from grokscope.ops.lookup import plan
from grokscope.optim.adamw import AdamW
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular

MODEL = TicketTransformer(d=6, d_mlp=9)
PAIRS = Modular(p=7, distractors=0)
LONGER = Modular(p=7, distractors=2, alphabet=3)


def setup(task=PAIRS, model=MODEL):
    shape = task.shape
    generator = stream(0, "weights")
    # biases too: at zero they would hide a mistake
    weights = {
        name: torch.randn(p.shape, generator=generator, dtype=torch.double).requires_grad_()
        for name, p in model.parameters(shape).items()
    }
    examples = task.split(0).train
    return weights, plan(examples.inputs, shape.vocabulary, shape.length), examples


def plain(weights, tokens):
    """App. B.2, every position attending to itself and those before it; logits at the last one."""
    x = weights["W_E"][tokens] + weights.get("W_pos", 0)
    q, k, v = (x @ weights[name] for name in ("W_Q", "W_K", "W_V"))
    logits = q @ k.mT / math.sqrt(x.shape[-1])
    future = torch.ones_like(logits, dtype=torch.bool).triu(1)
    attention = torch.softmax(logits.masked_fill(future, -math.inf), -1)
    h = attention @ v
    x = x + h @ weights["W_O"]
    x = x + torch.relu(x @ weights["W_in"] + weights.get("b_in", 0)) @ weights["W_out"] + weights.get("b_out", 0)
    return (x @ weights["W_U"])[:, -1], attention[:, -1], logits[:, -1], h[:, -1], v


@pytest.mark.parametrize("without", [(), ("positions",), ("biases",), ("positions", "biases")], ids=str)
@pytest.mark.parametrize("task", [PAIRS, LONGER], ids=["pairs", "among distractors"])
def test_equals_the_equations_on_the_operands_alone(task, without):
    model = TicketTransformer(d=6, d_mlp=9, **dict.fromkeys(without, False))
    weights, p, examples = setup(task, model)
    assert ("W_pos" in weights, "b_in" in weights) == ("positions" not in without, "biases" not in without)
    out = model.forward(weights, p, detail=True)
    answer, attention, logits, h, v = plain(weights, examples.inputs[:, :-1])
    torch.testing.assert_close(out.logits, answer)
    torch.testing.assert_close(model.forward(weights, p).logits, answer)
    torch.testing.assert_close(out.attention[:, 0, :-1], attention)
    torch.testing.assert_close(out.attention_logits[:, 0, :-1], logits)
    torch.testing.assert_close(out.pooled[:, 0], h)
    torch.testing.assert_close(out.values[:, 0, :-1], v)
    assert (out.attention[:, 0, -1] == 0).all()
    assert out.log_attention.isfinite().all()
    gradients = (torch.autograd.grad(x.square().sum(), list(weights.values())) for x in (out.logits, answer))
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_lipschitz_bound_holds():
    weights, p, _ = setup()
    out = MODEL.forward(weights, p, detail=True)
    reader = out.stream[:, -2]

    def logits(h, e):
        x = e + h @ weights["W_O"]
        return (x + torch.relu(x @ weights["W_in"] + weights["b_in"]) @ weights["W_out"] + weights["b_out"]) @ weights[
            "W_U"
        ]

    torch.testing.assert_close(logits(out.pooled[:, 0], reader), out.logits)
    for h, e in zip(out.pooled[:5, 0].detach(), reader.detach(), strict=False):
        jacobian = torch.autograd.functional.jacobian(lambda x, e=e: logits(x, e), h)
        assert torch.linalg.matrix_norm(jacobian, ord=2) <= MODEL.lipschitz(weights)
    assert torch.linalg.matrix_norm(weights["W_V"], ord=2) <= MODEL.value_norm(weights)


def test_gradients_on_attention():
    """∂CE/∂ℓ by the offset is that by the chain rule, and ∂CE/∂M that of autograd through W_Q."""
    weights, p, examples = setup(LONGER)
    offset = torch.zeros(len(examples.labels), 1, 5, dtype=torch.double, requires_grad=True)
    out = MODEL.forward(weights, p, offset=offset, detail=True)
    loss = torch.nn.functional.cross_entropy(out.logits, examples.labels)
    gradient, to_query = torch.autograd.grad(loss, [offset, weights["W_Q"]], retain_graph=True)
    assert (gradient[:, :, -1] == 0).all() and gradient.abs().max() > 0
    reach = MODEL.sensitivity(out) * torch.einsum(
        "nhjw,nhw->nhj", out.values - out.pooled.unsqueeze(2), to_h(weights, out, examples)
    )
    torch.testing.assert_close(gradient, reach)
    to_M = MODEL.interaction_gradient(weights, p, out, gradient)[0]
    torch.testing.assert_close(to_M @ weights["W_K"], to_query)  # M = W_Q W_Kᵀ
    assert MODEL.embedding_norm(weights, p, out) == out.stream[:, :-1].norm(dim=-1).max()


def to_h(weights, out, examples):
    """∂CE/∂h of the mean cross-entropy, with h cut loose from the rest."""
    h = out.pooled.detach().requires_grad_()
    x = out.stream[:, -2].detach() + h[:, 0] @ weights["W_O"]
    x = x + torch.relu(x @ weights["W_in"] + weights["b_in"]) @ weights["W_out"] + weights["b_out"]
    loss = torch.nn.functional.cross_entropy(x @ weights["W_U"], examples.labels)
    return torch.autograd.grad(loss, h)[0]


def test_frozen_attention_replaces_the_learned():
    weights, p, examples = setup()
    frozen = torch.tensor([1.0, 0, 0], dtype=torch.double).expand(len(examples.labels), -1)
    out = MODEL.forward(weights, p, frozen=frozen, detail=True)
    torch.testing.assert_close(out.pooled[:, 0], out.values[:, 0, 0])


def test_the_bound_of_explaining_away_holds_while_it_trains():
    config = RunConfig(task=PAIRS, model=TicketTransformer(d=16, d_mlp=32), optim=AdamW(lr=0.01))
    program = Program(config, 2, torch.device("cpu"))
    for lane in range(2):
        program.load(lane, config, lane_data(config))
    for _ in range(4):
        for _ in range(15):
            program.train_epoch()
        table = program.evaluate()
        assert max(table["bound_ratio"]) <= 1
        assert min(table["grad_logit"]) > 0
    assert min(table["train_accuracy"]) > 0.9


@pytest.mark.parametrize("settings", [{"d": 0}, {"d_mlp": 0}, {"kappa": 0.0}])
def test_impossible_settings(settings):
    with pytest.raises(ConfigError) as error:
        TicketTransformer(**settings).check()
    assert error.value.field == next(iter(settings))
