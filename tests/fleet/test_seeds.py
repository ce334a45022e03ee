"""Seeds apart: each one changes what it is for, and nothing else."""

from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.fleet.start import initial_weights
from grokscope.interventions import Rates
from grokscope.models import models
from grokscope.optim.noise import Noise
from grokscope.tasks.parity import Parity
from grokscope.tickets.initial import Random

CPU = torch.device("cpu")


def loaded(config):
    program = Program(config, 1, CPU)
    program.load(0, config.check(), lane_data(config))
    return program


def data_of(config):
    return [tensor for side in lane_data(config) for tensor in side.values()]


def start_of(config):
    return list(initial_weights(config).values())


def order_of(config, epochs=2):
    """Which examples the steps of some epochs train on."""
    program, steps = loaded(config), []
    program.train["labels"][0] = torch.arange(program.train["labels"].shape[1])
    for _ in range(epochs * config.steps_per_epoch):
        steps.append(program._batch()["labels"][0])
        program.step += 1
    return steps


def noise_of(config):
    """The loss of the first step with noise on the weights."""
    program = loaded(replace(config, noise=Noise(weights=0.3)))
    (total,), _ = program._objective(program._batch(), Rates(*torch.zeros(4, 1)))
    return [total.detach()]


PARTS = {"data": data_of, "initial weights": start_of, "order": order_of, "randomness of steps": noise_of}
CHANGES = {
    "data_seed": {"data"},
    "init_seed": {"initial weights"},
    "order_seed": {"order"},
    "seed": {"data", "initial weights", "order"},
}


def equal(some, others):
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("seed", CHANGES)
def test_each_seed_changes_what_it_is_for(tiny, seed):
    config = replace(tiny, batch_size=7)
    other = replace(config, **{seed: 5})
    changed = {name for name, part in PARTS.items() if not equal(part(config), part(other))}
    # the loss of the first step follows from all of them
    assert changed - {"randomness of steps"} == CHANGES[seed]
    assert "randomness of steps" in changed


def test_the_order_seed_is_that_of_the_noise_in_steps(tiny):
    """Full batches: nothing but the noise depends on it."""
    assert not equal(noise_of(tiny), noise_of(replace(tiny, order_seed=5)))
    assert torch.equal(loaded(tiny).flat, loaded(replace(tiny, order_seed=5)).flat)


@pytest.mark.parametrize("kind", [k for k, cls in models.entries().items() if "dropout" in cls.__dataclass_fields__])
def test_the_order_seed_is_that_of_dropout(tiny, kind):
    sizes = {"d": 8, "d_mlp": 16, "hidden": 8, "width": 8}
    cls = models.get(kind)
    model = cls(dropout=0.5, **{name: size for name, size in sizes.items() if name in cls.__dataclass_fields__})
    try:
        model.check_task(tiny.task.shape)
        config = replace(tiny, model=model, prior=replace(tiny.prior, beta=0.1 if model.has_attention else 0.0))
    except ConfigError:
        task = Parity(n=6, k=2, train_fraction=0.5, form="signs")
        config = replace(tiny, task=task, model=model, prior=replace(tiny.prior, beta=0.0))
    one, same, other = (loaded(replace(config, order_seed=seed)) for seed in (1, 1, 2))
    assert torch.equal(one.flat, other.flat)
    assert one.evaluate() == other.evaluate()
    for program in (one, same, other):
        program.train_epoch()
    assert torch.equal(one.flat, same.flat)
    assert not torch.equal(one.flat, other.flat)


def test_a_seed_that_is_set_apart_no_longer_follows_the_common_one(tiny):
    apart = replace(tiny, batch_size=7, data_seed=1, init_seed=2, order_seed=3)
    other = replace(apart, seed=99)
    for part in PARTS.values():
        assert equal(part(apart), part(other))


def test_without_seeds_of_their_own_all_follow_the_common_one(tiny):
    config = replace(tiny, batch_size=7, seed=4)
    written_out = replace(config, data_seed=4, init_seed=4, order_seed=4)
    for part in PARTS.values():
        assert equal(part(config), part(written_out))


def test_a_full_batch_without_noise_has_no_order(tiny):
    one, other = loaded(tiny), loaded(replace(tiny, order_seed=5))
    for program in (one, other):
        for _ in range(4):
            program.train_epoch()
    assert torch.equal(one.flat, other.flat)


def test_what_a_ticket_draws_follows_the_seed_of_the_initial_weights(tiny):
    config = replace(tiny, ticket=Random(rate=0.5))
    masks = [
        loaded(replace(config, **seeds)).mask for seeds in ({}, {"init_seed": 5}, {"data_seed": 5, "order_seed": 5})
    ]
    assert not torch.equal(masks[0], masks[1])
    assert torch.equal(masks[0], masks[2])
