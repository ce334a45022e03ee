"""Dropout: only in training, by the run's seed, the step and the layer, and without a change of the mean."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data, with_plan
from grokscope.fleet.forward import Forward
from grokscope.fleet.program import Program
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.lstm import LSTM
from grokscope.models.mlp import MLP
from grokscope.models.parts import Dropout
from grokscope.models.ticket_transformer import TicketTransformer
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.randomness import Key
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity

TOKENS = Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6)
SIGNS = Parity(n=6, k=2, form="signs", train_fraction=0.5)
MODELS = {
    "transformer": (TOKENS, Transformer(d=8, d_mlp=16, dropout=0.3)),
    "two layers": (TOKENS, Transformer(d=8, d_mlp=16, layers=2, scope="causal", dropout=0.3)),
    "tickets-transformer": (TOKENS, TicketTransformer(d=8, d_mlp=16, dropout=0.3)),
    "embedding-mlp": (TOKENS, EmbeddingMLP(d=8, d_mlp=16, dropout=0.3)),
    "lstm": (TOKENS, LSTM(d=8, hidden=8, dropout=0.3)),
    "mlp": (SIGNS, MLP(depth=3, width=16, dropout=0.3)),
}
every_model = pytest.mark.parametrize("name", MODELS)


def key(seed=0, step=0):
    return Key(torch.tensor(seed), torch.tensor(step))


def config_of(name, **settings):
    task, model = MODELS[name]
    return RunConfig(task=task, model=model, optim=AdamW(lr=1e-2), prior=KL(beta=0.0), **settings)


def setup(name):
    config = config_of(name)
    weights = config.model.init(config.task.shape, torch.Generator().manual_seed(0))
    shape, batch = config.task.shape, lane_data(config)[0]
    return Forward(config), weights, with_plan(batch, shape.vocabulary, max(shape.length, shape.test_length))


@every_model
def test_dropout_is_on_in_training_only(name):
    forward, weights, batch = setup(name)
    without = forward(weights, batch).logits
    assert torch.equal(forward(weights, batch, key=key()).logits, without)
    dropped = forward(weights, batch, training=True, key=key()).logits
    assert not torch.allclose(dropped, without, rtol=1e-2)
    forward.model = replace(forward.model, dropout=0.0)
    assert torch.equal(forward(weights, batch, training=True, key=key()).logits, without)


@every_model
def test_the_seed_and_the_step_decide_and_nothing_else(name):
    forward, weights, batch = setup(name)
    first = forward(weights, batch, training=True, key=key()).logits
    assert torch.equal(forward(weights, batch, training=True, key=key()).logits, first)
    for other in (key(seed=1), key(step=1)):
        assert not torch.allclose(forward(weights, batch, training=True, key=other).logits, first, rtol=1e-2)


def test_training_without_a_key_is_an_error():
    forward, weights, batch = setup("transformer")
    with pytest.raises(ValueError, match="needs a key"):
        forward(weights, batch, training=True)


def test_a_share_of_the_numbers_is_zero_and_the_others_are_larger():
    x = torch.full((500, 40), 3.0)
    found = Dropout(0.25, True, key())(x)
    assert set(found.unique().tolist()) == {0.0, 4.0}
    assert (found == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert torch.equal(Dropout(0.25, False, key())(x), x)


def test_layers_drop_other_units():
    x = torch.ones(50, 40)
    drop = Dropout(0.5, True, key())
    assert ((drop(x, 0) == 0) == (drop(x, 1) == 0)).float().mean().item() == pytest.approx(0.5, abs=0.05)


def test_the_mean_over_many_keys_is_the_layer_without_dropout():
    """What reads the dropped layer is linear, so the logits too have the mean of the pass without dropout."""
    forward, weights, batch = setup("transformer")
    steps = torch.arange(4000)
    logits = torch.func.vmap(
        lambda step: forward(weights, batch, training=True, key=Key(torch.tensor(0), step)).logits
    )(steps)
    error = (logits.mean(0) - forward(weights, batch).logits) / (logits.std(0) / len(steps) ** 0.5)
    assert error.abs().max() < 5  # standard errors, of some hundred numbers
    assert error.square().mean().item() == pytest.approx(1, abs=0.3)


def program_of(configs):
    program = Program(configs[0], len(configs), torch.device("cpu"))
    for lane, config in enumerate(configs):
        program.load(lane, config, lane_data(config))
    return program


def trained(configs, epochs=5):
    program = program_of(configs)
    for _ in range(epochs):
        program.train_epoch()
    return program


@every_model
def test_lanes_differ_by_seed_and_repeat_exactly(name):
    configs = [config_of(name, seed=seed) for seed in (0, 1)]
    pair, again = trained(configs), trained(configs)
    assert torch.equal(pair.flat, again.flat)
    for lane, config in enumerate(configs):
        alone = trained([config])
        torch.testing.assert_close(pair.flat[lane], alone.flat[0], rtol=2e-3, atol=2e-4)
    without = trained([replace(c, model=replace(c.model, dropout=0.0)) for c in configs])
    assert not torch.allclose(pair.flat, without.flat, rtol=1e-2, atol=1e-3)


def test_neighbours_from_one_start_drop_other_units():
    """The same weights and data in both lanes: only the seed of the key differs."""
    configs = [config_of("transformer", seed=seed) for seed in (0, 1)]
    program = program_of(configs)
    program.flat[1] = program.flat[0]
    for side in (program.train, program.test):
        for tensor in side.values():
            tensor[1] = tensor[0]
    program.train_epoch()
    assert not torch.allclose(program.flat[0], program.flat[1], rtol=1e-2, atol=1e-3)


@every_model
def test_a_run_continues_from_a_saved_step_with_the_same_bits(name):
    config = config_of(name)
    straight = trained([config], epochs=6)
    first = trained([config], epochs=3)
    second = Program(config, 1, torch.device("cpu"))
    second.load(0, config, lane_data(config), saved=first.unload(0))
    for _ in range(3):
        second.train_epoch()
    assert torch.equal(second.flat, straight.flat)


def test_what_is_measured_is_the_network_without_dropout():
    config = config_of("transformer")
    program = trained([config])
    weights = {name: w[0].detach() for name, w in program.weights.items()}
    shape, (train, _) = config.task.shape, lane_data(config)
    batch = with_plan(train, shape.vocabulary, shape.length)
    logits = replace(config.model, dropout=0.0).forward(weights, program.objective.forward.inputs(batch)).logits
    expected = F.cross_entropy(logits, batch["labels"]).item()
    assert program.evaluate()["train_loss"][0] == pytest.approx(expected, rel=1e-5)
    assert program.evaluate() == program.evaluate()
