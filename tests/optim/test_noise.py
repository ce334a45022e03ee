"""Noise on weights and labels: as much as asked for, from the run's own seed, in training alone."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.objective import Objective, hyper_of
from grokscope.fleet.program import Program
from grokscope.models.mlp import MLP
from grokscope.optim.adamw import AdamW
from grokscope.optim.noise import Noise
from grokscope.randomness import Key
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.polynomial import Polynomial

CPU = torch.device("cpu")
EVERY = {
    "weights": Noise(weights=0.1),
    "labels once": Noise(labels=0.3),
    "labels every step": Noise(labels=0.3, redraw="every-step"),
    "both": Noise(weights=0.05, labels=0.2, redraw="every-step"),
}


def key(seed=0, step=0):
    return Key(torch.tensor(seed), torch.tensor(step))


def program_of(*configs):
    program = Program(configs[0], len(configs), CPU)
    for lane, config in enumerate(configs):
        program.load(lane, config.check(), lane_data(config))
    return program


def trained(*configs, epochs=5):
    program = program_of(*configs)
    for _ in range(epochs):
        program.train_epoch()
    return program


# ── labels ───────────────────────────────────────────────────────────────────────────────────────────────────


def drawn(noise, labels, classes, seed):
    return (
        noise.labels_once(labels, classes, seed)
        if noise.redraw == "once"
        else noise.labels_now(labels, classes, key(seed))
    )


@settings(max_examples=20)
@given(
    st.floats(0.0, 1.0), st.integers(2, 20), st.sampled_from(["once", "every-step"]), st.integers(0, 2**31 - 1)
)  # fmt: skip
def test_the_share_of_wrong_labels_is_the_one_asked_for(share, classes, redraw, seed):
    """A replaced label is right by chance once in `classes` times: wrong ~ Binomial(n, share · (1 − 1/classes))."""
    n = 4000
    labels = torch.arange(n) % classes
    found = drawn(Noise(labels=share, redraw=redraw), labels, classes, seed)
    assert found.dtype == labels.dtype
    assert 0 <= found.min()
    assert found.max() < classes
    p = share * (1 - 1 / classes)
    assert abs((found != labels).sum().item() - n * p) <= 6 * math.sqrt(n * p * (1 - p)) + 1e-9
    # every class is as likely as any other among the replaced ones
    wrong = found[found != labels]
    counts = torch.bincount(wrong, minlength=classes).double()
    expected = n * p / classes
    assert (counts - expected).abs().max() <= 6 * math.sqrt(expected) + 6


@pytest.mark.parametrize("redraw", ["once", "every-step"])
def test_no_share_leaves_all_and_a_whole_share_replaces_all(redraw):
    labels = torch.zeros(3000, dtype=torch.int64)
    assert torch.equal(drawn(Noise(labels=0.0, redraw=redraw), labels, 10, 1), labels)
    every = drawn(Noise(labels=1.0, redraw=redraw), labels, 10, 1)
    assert set(every.tolist()) == set(range(10))


def test_labels_drawn_once_follow_the_data_seed_alone(tiny):
    def labels(**seeds):
        return lane_data(replace(tiny, noise=Noise(labels=0.5), **seeds))[0]["labels"]

    assert torch.equal(labels(), labels(init_seed=3, order_seed=4))
    assert torch.equal(labels(), labels(seed=9, data_seed=0))
    assert not torch.equal(labels(), labels(data_seed=1))


def test_only_training_labels_are_wrong(tiny):
    (noisy, noisy_test), (clean, clean_test) = (lane_data(replace(tiny, noise=n)) for n in (Noise(labels=0.5), Noise()))
    assert 0 < (noisy["labels"] != clean["labels"]).float().mean() < 1
    assert torch.equal(noisy["tokens"], clean["tokens"])
    assert torch.equal(noisy["target"], clean["target"])
    assert all(torch.equal(noisy_test[name], clean_test[name]) for name in clean_test)


def test_labels_of_every_step_are_drawn_anew_and_data_keep_the_true_ones(tiny):
    noise, labels = Noise(labels=0.4, redraw="every-step"), torch.zeros(50, dtype=torch.int64)
    steps = [noise.labels_now(labels, 7, key(step=step)) for step in range(3)]
    assert len({tuple(found.tolist()) for found in steps}) == 3
    assert torch.equal(steps[1], noise.labels_now(labels, 7, key(step=1)))
    assert not torch.equal(steps[1], noise.labels_now(labels, 7, key(seed=1, step=1)))
    config = replace(tiny, noise=noise)
    assert torch.equal(lane_data(config)[0]["labels"], lane_data(tiny)[0]["labels"])


def test_next_token_labels_may_be_wrong_too(tiny):
    task = AutoregressiveParity(n=6, k=2, train_fraction=0.5)
    config = replace(tiny, task=task, model=replace(tiny.model, scope="causal"))
    for noise in (Noise(labels=0.5), Noise(labels=0.5, redraw="every-step")):
        noisy, clean = trained(replace(config, noise=noise), epochs=2), trained(config, epochs=2)
        assert noisy.flat.isfinite().all()
        assert not torch.equal(noisy.flat, clean.flat)


# ── weights ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_weight_noise_has_the_size_asked_for_and_its_own_draw_for_every_weight():
    weights = {"W_Q": torch.ones(100, 100), "W_K": torch.ones(100, 100)}
    noisy = Noise(weights=0.25).weights_now(weights, key())
    for name, weight in noisy.items():
        off = weight - weights[name]
        assert off.mean().abs() < 6 * 0.25 / 100
        assert off.std().item() == pytest.approx(0.25, rel=0.05)
    assert not torch.equal(noisy["W_Q"], noisy["W_K"])
    both = torch.stack([(noisy[name] - 1).flatten() for name in noisy])
    assert torch.corrcoef(both)[0, 1].abs() < 0.06


def test_weight_noise_is_drawn_anew_at_every_step_for_every_seed():
    weights = {"W": torch.zeros(20)}
    draws = [Noise(weights=1.0).weights_now(weights, key(seed, step))["W"] for seed in range(2) for step in range(2)]
    assert len({tuple(draw.tolist()) for draw in draws}) == 4
    seeds, steps = torch.tensor([0, 1]), torch.tensor([1, 1])
    stacked = vmap(lambda seed, step: Noise(weights=1.0).weights_now(weights, Key(seed, step))["W"])(seeds, steps)
    torch.testing.assert_close(stacked, torch.stack([draws[1], draws[3]]))


def test_the_loss_is_that_of_the_noisy_weights_and_the_weights_stay(tiny):
    config = replace(tiny, noise=Noise(weights=0.1))
    program = program_of(config)
    weights = {name: weight[0].detach() for name, weight in program.weights.items()}
    batch = {name: tensor[0] for name, tensor in program.train.items()}
    hyper = {name: torch.tensor(value) for name, value in hyper_of(config).items()}
    rest = torch.tensor(0.3), torch.tensor(1.0), torch.tensor(4), torch.tensor(7)
    noisy = Objective(config, CPU).loss(weights, hyper, batch, *rest)
    moved = config.noise.weights_now(weights, key(seed=7, step=4))
    torch.testing.assert_close(noisy, Objective(tiny, CPU).loss(moved, hyper, batch, *rest))
    still = replace(config, optim=AdamW(lr=1e-30, weight_decay=0.0))
    assert torch.equal(trained(still, epochs=3).flat, program_of(still).flat)


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("noise", EVERY.values(), ids=EVERY)
def test_evaluation_is_untouched(tiny, noise):
    """Before the first step a noisy network measures as a calm one does, on the labels that are true or were drawn for good."""
    noisy, calm = program_of(replace(tiny, noise=noise)), program_of(tiny)
    if noise.labels and noise.redraw == "once":
        calm.train["labels"].copy_(noisy.train["labels"])
    assert noisy.evaluate() == calm.evaluate()
    for program in (noisy, calm):
        program.train_epoch()
    assert noisy.evaluate() == noisy.evaluate()
    assert (noisy.evaluate() == calm.evaluate()) == (not noise.in_steps)


@pytest.mark.parametrize("noise", [noise for noise in EVERY.values() if noise.in_steps])
def test_lanes_differ_by_seed_alone(tiny, noise):
    """Equal data and initial weights: what differs is what was drawn in the steps."""
    config = replace(tiny, noise=noise)
    calm = trained(replace(tiny, order_seed=1), replace(tiny, order_seed=2))
    assert torch.equal(calm.flat[0], calm.flat[1])
    noisy = trained(replace(config, order_seed=1), replace(config, order_seed=2), replace(config, order_seed=1))
    assert torch.equal(noisy.flat[0], noisy.flat[2])
    assert not torch.equal(noisy.flat[0], noisy.flat[1])


@pytest.mark.parametrize("noise", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("batch_size", [0, 7])
def test_it_repeats_exactly_after_a_kill(tiny, noise, batch_size):
    config = replace(tiny, noise=noise, batch_size=batch_size)
    whole, half = trained(config, epochs=6), trained(config, epochs=3)
    rest = Program(config, 1, CPU)
    rest.load(0, config, lane_data(config), half.unload(0))
    for _ in range(3):
        rest.train_epoch()
    assert torch.equal(whole.flat, rest.flat)
    assert not torch.equal(whole.flat, trained(replace(tiny, batch_size=batch_size), epochs=6).flat)


def test_runs_with_other_strengths_share_a_program(tiny):
    strengths = [Noise(weights=w, labels=s, redraw="every-step") for w, s in ((0.01, 0.1), (0.2, 0.6))]
    configs = [replace(tiny, noise=noise) for noise in strengths]
    together = trained(*configs)
    for lane, config in enumerate(configs):
        torch.testing.assert_close(together.flat[lane], trained(config).flat[0], rtol=2e-3, atol=2e-4)
    assert not torch.allclose(together.flat[0], together.flat[1], atol=1e-3)


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("noise", "line"),
    [
        (Noise(weights=-0.1), r"^noise\.weights: -0\.1 is below 0$"),
        (Noise(labels=1.5), r"^noise\.labels: 1\.5 is outside \[0, 1\]$"),
    ],
)
def test_impossible_strengths_are_refused(noise, line):
    with pytest.raises(ConfigError, match=line):
        RunConfig(noise=noise).check()


def test_label_noise_is_refused_for_regression():
    config = RunConfig(task=Polynomial(dimension=5, train_size=20, test_size=10), model=MLP(width=8), loss="mse")
    assert replace(config, noise=Noise(weights=0.1)).check()
    with pytest.raises(ConfigError, match=r"^noise\.labels: task polynomial has no classes to draw from$"):
        replace(config, noise=Noise(labels=0.1)).check()
