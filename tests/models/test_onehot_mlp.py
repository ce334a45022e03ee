"""The one-hot MLP: its look-ups against the formula written with one-hot tokens."""

import math

import pytest
import torch
import torch.nn.functional as F

from grokscope.errors import ConfigError
from grokscope.models.onehot_mlp import OneHotMLP
from grokscope.ops.lookup import plan
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular


def setup(task, model):
    shape = task.shape
    drawn = model.init(shape, stream(0, "weights"))
    weights = {name: (w + 0.1).double().requires_grad_() for name, w in drawn.items()}
    examples = task.split(0).train
    return weights, plan(examples.inputs, shape.vocabulary, shape.length), examples


@pytest.mark.parametrize("distractors", [0, 3])
@pytest.mark.parametrize("biases", [False, True])
def test_equals_the_formula_with_one_hot_tokens(distractors, biases):
    task, model = Modular(p=7, distractors=distractors, alphabet=4), OneHotMLP(width=5, layers=2, biases=biases)
    weights, p, examples = setup(task, model)
    tokens = F.one_hot(examples.inputs[:, :-1], task.shape.vocabulary - 1).double()  # example, place, token
    x = tokens.transpose(1, 2).flatten(1)  # rows of W_1: token by token, one per place
    for layer in (1, 2):
        x = torch.relu(x @ weights[f"W_{layer}"] + (weights[f"b_{layer}"] if biases else 0.0))
    logits = x @ weights["W_U"]
    ours = model.forward(weights, p).logits
    torch.testing.assert_close(ours, logits)
    gradients = (torch.autograd.grad(y.square().sum(), list(weights.values())) for y in (ours, logits))
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_it_sees_the_order_of_the_operands():
    model = OneHotMLP(width=5)
    weights, _, _ = setup(Modular(p=7, distractors=0), model)
    there, back = (model.forward(weights, plan(torch.tensor([pair]), 8, 3)).logits for pair in ([2, 5, 7], [5, 2, 7]))
    assert not torch.allclose(there, back)


def test_initial_weights_have_the_scale_of_what_they_read():
    drawn = OneHotMLP(kappa=2.0).init(Modular(p=113, distractors=0).shape, stream(0, "weights"))
    assert {name: tuple(w.shape) for name, w in drawn.items()} == {
        "W_1": (226, 200),
        "W_2": (200, 200),
        "W_U": (200, 113),
    }
    assert drawn["W_1"].std().item() == pytest.approx(2 / math.sqrt(226), rel=0.02)


def test_longer_test_sequences_are_refused():
    with pytest.raises(ConfigError, match="additional positions"):
        OneHotMLP().check_task(Modular(p=7, distractors=1, test_distractors=2).shape)
