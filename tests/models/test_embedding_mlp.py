"""The embedding MLP: its tables against the formula written with one-hot tokens, and what its neurons read and write."""

import math

import pytest
import torch
import torch.nn.functional as F

from grokscope.errors import ConfigError
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.ops.lookup import plan
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular
from grokscope.tasks.polynomial import Polynomial

MODEL = EmbeddingMLP(d=6, d_mlp=9)


def setup(task, model=MODEL):
    shape = task.shape
    drawn = model.init(shape, stream(0, "weights"))
    weights = {name: w.double().requires_grad_() for name, w in drawn.items()}
    examples = task.split(0).train
    return weights, plan(examples.inputs, shape.vocabulary, shape.length), examples


@pytest.mark.parametrize("distractors", [0, 3])
def test_equals_the_formula_with_one_hot_tokens(distractors):
    task = Modular(p=7, distractors=distractors, alphabet=4)
    weights, p, examples = setup(task)
    seen = F.one_hot(examples.inputs[:, :-1], task.shape.vocabulary - 1).double().sum(1)
    hidden = torch.relu(seen @ weights["W_E"] @ weights["W_in"])
    logits = hidden @ weights["W_out"] @ weights["W_U"]
    ours = MODEL.forward(weights, p).logits
    torch.testing.assert_close(ours, logits)
    gradients = (torch.autograd.grad(x.square().sum(), list(weights.values())) for x in (ours, logits))
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_the_order_of_operands_makes_no_difference():
    weights, _, _ = setup(Modular(p=7, distractors=0))
    there, back = (MODEL.forward(weights, plan(torch.tensor([pair]), 8, 3)).logits for pair in ([2, 5, 7], [5, 2, 7]))
    assert torch.equal(there, back)


def test_neurons_are_those_of_the_operands():
    """One neuron alone: relu(Σ reads) times what it writes."""
    task = Modular(p=7, distractors=2, alphabet=4)
    weights, _, _ = setup(task)
    reads, writes = MODEL.neurons(weights)
    assert reads.shape == writes.shape == (9, 7)
    pairs = plan(torch.tensor([[3, 4, 11]]), 12, 3)
    by_hand = sum(torch.relu(reads[n, 3] + reads[n, 4]) * writes[n] for n in range(9))
    torch.testing.assert_close(MODEL.forward(weights, pairs).logits[0], by_hand)


def test_initial_weights_have_the_paper_s_scale():
    shape = Modular(p=67, distractors=0, pairs="unordered", train_fraction=0.4).shape
    drawn = EmbeddingMLP(kappa=2.0).init(shape, stream(0, "weights"))
    assert {name: tuple(w.shape) for name, w in drawn.items()} == {
        "W_E": (67, 500),
        "W_in": (500, 48),
        "W_out": (48, 500),
        "W_U": (500, 67),
    }
    for name, d_in in (("W_E", 67), ("W_in", 500), ("W_out", 48), ("W_U", 500)):
        assert drawn[name].std().item() == pytest.approx(2 / math.sqrt(d_in), rel=0.02)


def test_kaiming_s_rule_is_for_the_embedding_alone():
    shape = Modular(p=67, distractors=0, pairs="unordered", train_fraction=0.5).shape
    normal, kaiming = (
        EmbeddingMLP(embed_init=rule).init(shape, stream(0, "weights")) for rule in ("normal", "kaiming")
    )
    torch.testing.assert_close(kaiming["W_E"], math.sqrt(2) * normal["W_E"])
    assert all(torch.equal(kaiming[name], normal[name]) for name in ("W_in", "W_out", "W_U"))
    torch_s = torch.nn.init.kaiming_normal_(torch.empty(500, 67), nonlinearity="relu")
    assert kaiming["W_E"].std().item() == pytest.approx(torch_s.std().item(), rel=0.02)


def test_it_reads_tokens_only():
    with pytest.raises(ConfigError) as error:
        MODEL.check_task(Polynomial().shape)
    assert error.value.field == "kind"


@pytest.mark.parametrize("settings", [{"d": 0}, {"d_mlp": 0}, {"kappa": 0.0}])
def test_impossible_settings(settings):
    with pytest.raises(ConfigError) as error:
        EmbeddingMLP(**settings).check()
    assert error.value.field == next(iter(settings))
