"""Models of vectors: the MLP against nn.Sequential, the committee by hand, and what they refuse."""

import math

import pytest
import torch
from torch import nn

from grokscope.errors import ConfigError
from grokscope.models.committee import Committee
from grokscope.models.mlp import MLP
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from grokscope.tasks.polynomial import Polynomial

SIGNS = Parity(n=6, k=2, form="signs").shape
REAL = Polynomial(dimension=4).shape


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_mlp_equals_a_plain_module(depth, biases):
    model = MLP(depth=depth, width=5, biases=biases)
    generator = stream(0, "weights")
    shapes = {name: p.shape for name, p in model.parameters(SIGNS).items()}
    weights = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    widths = [6, *[5] * (depth - 1), 2]
    layers = []
    for layer in range(depth):
        linear = nn.Linear(widths[layer], widths[layer + 1], bias=biases)
        with torch.no_grad():
            linear.weight.copy_(weights[f"W_{layer + 1}"].T)
            if biases:
                linear.bias.copy_(weights[f"b_{layer + 1}"])
        layers += [linear, nn.ReLU()]
    x = torch.randn(11, 6, generator=generator)
    torch.testing.assert_close(model.forward(weights, x).logits, nn.Sequential(*layers[:-1])(x))
    assert len(weights) == (2 * depth if biases else depth)


def test_mlp_of_different_widths():
    model = MLP(widths=(4, 7, 3), biases=False)
    shapes = {name: p.shape for name, p in model.parameters(SIGNS).items()}
    assert shapes == {"W_1": (6, 4), "W_2": (4, 7), "W_3": (7, 3), "W_4": (3, 2)}
    weights = {name: torch.randn(shape, generator=stream(0, name)) for name, shape in shapes.items()}
    x = torch.randn(5, 6, generator=stream(0, "x"))
    h = torch.relu(torch.relu(torch.relu(x @ weights["W_1"]) @ weights["W_2"]) @ weights["W_3"])
    torch.testing.assert_close(model.forward(weights, x).logits, h @ weights["W_4"])
    for wrong, field in (({"widths": (4, 0)}, "widths"), ({"widths": (4,), "depth": 3}, "depth")):
        with pytest.raises(ConfigError) as error:
            MLP(**wrong).check()
        assert error.value.field == field


def test_mlp_scale_of_initial_weights():
    drawn = MLP(depth=3, width=300, kappa=4.0).init(SIGNS._replace(features=400), stream(0, "weights"))
    assert drawn["W_1"].std().item() == pytest.approx(4 / math.sqrt(400), rel=0.02)
    assert drawn["W_2"].std().item() == pytest.approx(4 / math.sqrt(300), rel=0.02)
    assert (drawn["b_1"] == 0).all()


def test_committee_by_hand():
    """Two units with h = (1, −2) at ε = 0.5: φ = 1 + 0.25 and −2 + 1, mean 0.125, times α = 4."""
    out = Committee(width=2, alpha=4.0, epsilon=0.5).forward({"W": torch.tensor([[1.0, -2.0]])}, torch.tensor([[1.0]]))
    assert out.logits.tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (MLP(), Modular().shape),
        (Committee(), Modular().shape),
        (Committee(), SIGNS),
    ],
)
def test_what_they_cannot_read(model, shape):
    with pytest.raises(ConfigError) as error:
        model.check_task(shape)
    assert error.value.field == "kind"
    MLP().check_task(SIGNS)
    Committee().check_task(REAL)


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (MLP, {"depth": 0}),
        (MLP, {"width": 0}),
        (MLP, {"kappa": 0.0}),
        (Committee, {"width": 0}),
        (Committee, {"alpha": 0.0}),
    ],
)
def test_impossible_settings(cls, settings):
    with pytest.raises(ConfigError) as error:
        cls(**settings).check()
    assert error.value.field == next(iter(settings))
