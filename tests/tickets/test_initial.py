"""Pruning before training, against independent calculations."""

import itertools
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data, with_plan
from grokscope.fleet.start import initial_weights, starting_point
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.transformer import Transformer
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular
from grokscope.tickets.initial import Grasp, Snip, SynFlow, flow_through, hessian_gradient

CONFIG = RunConfig(task=Modular(p=7, alphabet=3, train_fraction=0.6), model=Transformer(d=8, d_mlp=16))
NAMES = list(CONFIG.model.parameters(CONFIG.task.shape))


class Catch(Snip):
    """Hands out the context instead of pruning."""

    def draw(self, context):
        self.seen.append(context)
        return super().draw(context)


def planned():
    shape = CONFIG.task.shape
    return with_plan(lane_data(CONFIG)[0], shape.vocabulary, shape.length)


def ground_of():
    seen = []
    ticket = Catch(rate=0.5)
    object.__setattr__(ticket, "seen", seen)
    config = replace(CONFIG, ticket=ticket)
    starting_point(config, planned())
    return seen[0]


def plain_loss(weights):
    """The transformer on [example, position, d], written out."""
    train = CONFIG.task.split(0).train
    x = weights["W_E"][train.inputs] + weights["W_pos"]
    q, k, v = x[:, -1] @ weights["W_Q"], x @ weights["W_K"], x @ weights["W_V"]
    attention = torch.softmax((k @ q[:, :, None]).squeeze(-1) / 8**0.5, -1)
    h = x[:, -1] + (attention[:, :, None] * v).sum(1)
    logits = (h + torch.relu(h @ weights["W_in"]) @ weights["W_out"]) @ weights["W_U"]
    return F.cross_entropy(logits, train.labels)


def test_snip_scores_by_hand():
    weights = {name: w.requires_grad_() for name, w in initial_weights(CONFIG).items()}
    gradients = torch.autograd.grad(plain_loss(weights), list(weights.values()))
    scores = torch.cat([(g * w).abs().flatten() for g, w in zip(gradients, weights.values(), strict=True)])
    config = replace(CONFIG, ticket=Snip(rate=0.7))
    mask = starting_point(config, planned()).mask
    kept = torch.cat([mask[name].flatten() for name in NAMES])
    assert int(kept.sum()) == len(scores) - round(0.7 * len(scores))
    assert scores[kept].min() >= scores[~kept].max() * (1 - 1e-4)


def test_grasp_product_equals_double_backward_of_the_plain_model():
    ours = hessian_gradient(ground_of())
    weights = {name: w.double().requires_grad_() for name, w in initial_weights(CONFIG).items()}
    gradients = torch.autograd.grad(plain_loss(weights), list(weights.values()), create_graph=True)
    flow = sum((g * g.detach()).sum() for g in gradients)
    products = torch.autograd.grad(flow, list(weights.values()))
    for name, product in zip(NAMES, products, strict=True):
        torch.testing.assert_close(ours[name].double(), product, rtol=1e-3, atol=1e-7)


def test_grasp_keeps_what_helps_the_gradient_flow():
    config = replace(CONFIG, ticket=Grasp(rate=0.5))
    start = starting_point(config, planned())
    weights, product = initial_weights(CONFIG), hessian_gradient(ground_of())
    saliency = torch.cat([(-product[name] * weights[name]).flatten() for name in NAMES])
    kept = torch.cat([start.mask[name].flatten() for name in NAMES])
    assert saliency[kept].max() <= saliency[~kept].min() + 1e-9


def chain(seed=0):
    """A network of three matrices, and its signal for an input of ones."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (7, 20, 12, 5)
    weights = {
        f"W{i}": torch.randn(a, b, generator=generator).double() for i, (a, b) in enumerate(itertools.pairwise(sizes))
    }

    def signal(own):
        x = torch.ones(1, 7, dtype=own["W0"].dtype)
        for name in weights:
            x = torch.relu(x @ own[name])
        return x.sum()

    return weights, signal


def test_synflow_conserves_the_flow_in_every_layer():
    weights, signal = chain()
    size = {name: w.abs() for name, w in weights.items()}
    flows = flow_through(size, list(size), signal)
    whole = signal(size)
    for flow in flows.values():
        torch.testing.assert_close(flow.sum(), whole)


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9])
def test_synflow_never_empties_a_layer(rate):
    weights, signal = chain()
    parameters = {name: _matrix(w) for name, w in weights.items()}
    context = ground_of()._replace(parameters=parameters, weights=weights, signal=signal)
    start = SynFlow(rate=rate).draw(context)
    size = sum(w.numel() for w in weights.values())
    assert sum(int(mask.sum()) for mask in start.mask.values()) == size - round(rate * size)
    assert all(mask.any() for mask in start.mask.values())
    assert signal({name: w.abs() for name, w in start.weights.items()}) > 0


def _matrix(weight):
    from grokscope.models import Parameter

    return Parameter(tuple(weight.shape), "matrix", 1.0, "mlp")


@pytest.mark.parametrize("rate", [0.6, 0.81, 0.9])
def test_synflow_leaves_every_layer_of_the_papers_mlp_alive(rate):
    task = Modular(p=13, pairs="unordered", distractors=0, train_fraction=0.4)
    config = RunConfig(
        task=task, model=EmbeddingMLP(d=60, d_mlp=12), prior=KL(beta=0.0), ticket=SynFlow(rate=rate)
    ).check()
    train = with_plan(lane_data(config)[0], task.shape.vocabulary, task.shape.length)
    start = starting_point(config, train)
    lives = {name: int(mask.sum()) for name, mask in start.mask.items()}
    size = sum(mask.numel() for mask in start.mask.values())
    assert sum(lives.values()) == size - round(rate * size)
    assert set(lives) == {"W_E", "W_in", "W_out", "W_U"} and min(lives.values()) > 0
