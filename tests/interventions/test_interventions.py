"""What each intervention does to a step, when it begins and ends, and that lanes have windows of their own."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import COMPONENTS
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.interventions import interventions
from grokscope.interventions.base import NoIntervention
from grokscope.interventions.both import Both
from grokscope.interventions.clamp import Clamp
from grokscope.interventions.distractors import Distractors
from grokscope.interventions.gradient import Gradient
from grokscope.interventions.labels import Labels
from grokscope.interventions.rescale import Rescale
from grokscope.interventions.reset import Reset
from grokscope.interventions.switch import Switch
from grokscope.interventions.weight_noise import WeightNoise
from grokscope.models.mlp import MLP
from grokscope.optim.sgd import SGD
from grokscope.tasks.parity import Parity

CPU = torch.device("cpu")
TIMED = [kind for kind, cls in interventions.entries().items() if "start" in cls.LANES and "end" in cls.LANES]


def loaded(*configs, fuse=True, since=0):
    program = Program(configs[0], len(configs), CPU, fuse)
    for lane, config in enumerate(configs):
        program.load(lane, config.check(), lane_data(config), since=since)
    return program


def weights_after(config, epochs, **how):
    program = loaded(config, **how)
    for _ in range(epochs):
        program.train_epoch()
    return {name: weight[0].detach().clone() for name, weight in program.weights.items()}


def norm_of(program, part):
    return torch.stack(
        [w[0].norm() for n, w in program.weights.items() if program.layout.parameters[n].part == part]
    ).norm()


@pytest.mark.parametrize("kind", TIMED)
@pytest.mark.parametrize("batch_size", [0, 16])
def test_before_its_window_nothing_changes_and_after_it_training_goes_on(tiny, kind, batch_size):
    more = {"redraw": "every-step", "strength": 0.9} if kind in ("labels", "distractors") else {}
    acting = replace(tiny, batch_size=batch_size, do=interventions.get(kind)(start=2, end=3, **more))
    plain = replace(acting, do=NoIntervention())
    same, other = (loaded(config, fuse=False) for config in (acting, plain))
    for _ in range(2):
        same.train_epoch()
        other.train_epoch()
    if kind not in ("rescale", "weight-noise"):  # these change the weights at the moment when the window begins
        assert torch.equal(same.flat, other.flat)
    for program in (same, other):
        program.train_epoch()
    assert not torch.equal(same.flat, other.flat)
    at_end = same.flat.clone()
    same.train_epoch()
    assert not torch.equal(same.flat, at_end)


@pytest.mark.parametrize("kind", TIMED)
def test_lanes_have_windows_of_their_own(tiny, kind):
    early, late = (replace(tiny, do=interventions.get(kind)(start=start, end=start + 2)) for start in (0, 2))
    together = loaded(early, late)
    for _ in range(4):
        together.train_epoch()
    for lane, config in enumerate((early, late)):
        alone = torch.cat([weight.flatten() for weight in weights_after(config, 4).values()])
        torch.testing.assert_close(together.flat[lane], alone, rtol=2e-3, atol=2e-4)
    assert not torch.allclose(together.flat[0], together.flat[1], atol=1e-6)


FUSED = {"clamp": False}
"""Clamped attention in a window needs two passes; everything else keeps the fused loss and the fused AdamW."""


@pytest.mark.parametrize("kind", TIMED)
def test_only_a_window_of_clamped_attention_falls_back_to_the_unfused_path(tiny, kind):
    program = loaded(replace(tiny, do=interventions.get(kind)(start=1, end=2)))
    assert program.objective.fused is FUSED.get(kind, True)
    assert program.update.is_plain_adamw
    assert program.needs_no_vmap is FUSED.get(kind, True)
    assert loaded(replace(tiny, do=interventions.get(kind)())).objective.fused


def test_a_factor_of_the_task_loss_is_not_fused(tiny):
    assert not loaded(replace(tiny, do=Switch(of="data"))).objective.fused
    assert not loaded(replace(tiny, do=Both(first=Rescale(), second=Switch(of="data")))).objective.fused
    assert loaded(replace(tiny, do=Switch(of="lr"))).objective.fused


@pytest.mark.parametrize(
    "kind", [kind for kind in interventions.entries() if kind not in ("none", "both", "transplant")]
)
def test_the_fused_path_computes_the_same(tiny, kind):
    config = replace(tiny, do=interventions.get(kind)())
    fused, plain = weights_after(config, 5), weights_after(config, 5, fuse=False)
    for name, weight in fused.items():
        torch.testing.assert_close(weight, plain[name], rtol=2e-3, atol=2e-4)


def test_windows_count_from_the_branch(tiny):
    config = replace(tiny, do=Switch(of="lr", start=1))
    program = loaded(config, since=2)
    saved = program.unload(0) | {"step": torch.tensor(2)}
    program.load(0, config, lane_data(config), saved, since=2)
    before = program.flat.clone()
    program.train_epoch()
    moved = program.flat.clone()
    assert not torch.equal(moved, before)
    program.train_epoch()
    assert torch.equal(program.flat, moved)


def test_rescaling_sets_the_norm_once_or_holds_it(tiny):
    once, held = (loaded(replace(tiny, do=Rescale(norm=3.0, hold=hold))) for hold in (False, True))
    assert norm_of(once, "mlp").item() == pytest.approx(3.0, rel=1e-5)
    for program in (once, held):
        for _ in range(3):
            program.train_epoch()
    assert norm_of(held, "mlp").item() == pytest.approx(3.0, rel=1e-5)
    assert norm_of(once, "mlp").item() != pytest.approx(3.0, rel=1e-4)
    plain, half = (loaded(replace(tiny, do=do)) for do in (NoIntervention(), Rescale(strength=0.5, parts=("readout",))))
    assert norm_of(half, "readout").item() == pytest.approx(0.5 * norm_of(plain, "readout").item(), rel=1e-5)
    assert torch.equal(norm_of(half, "mlp"), norm_of(plain, "mlp"))


def test_a_muted_part_only_decays_and_an_amplified_update_is_that_many_times_as_long(tiny):
    tiny = replace(tiny, optim=replace(tiny.optim, warmup=0.0))
    start, plain = weights_after(tiny, 0), weights_after(tiny, 1)
    decay = 1 - tiny.optim.lr * tiny.optim.weight_decay
    muted = weights_after(replace(tiny, do=Gradient(strength=0.0)), 1)
    ten = weights_after(replace(tiny, do=Gradient(strength=10.0)), 1)
    torch.testing.assert_close(muted["W_Q"], decay * start["W_Q"])
    torch.testing.assert_close(
        ten["W_Q"] - decay * start["W_Q"], 10 * (plain["W_Q"] - decay * start["W_Q"]), rtol=1e-4, atol=1e-6
    )
    assert torch.equal(ten["W_in"], plain["W_in"])


def test_a_gradient_can_be_matched_to_that_of_another_part(tiny):
    plain = replace(tiny, optim=SGD(lr=0.1, weight_decay=0.0, warmup=0.0, clip=0.0))
    own = replace(plain, do=Gradient(of="gradient", relative_to="mlp", strength=2.0))
    start, one, other = weights_after(plain, 0), weights_after(plain, 1), weights_after(own, 1)

    def moved(after, names):
        return torch.cat([(after[name] - start[name]).flatten() for name in names])

    attention, mlp = ("W_Q", "W_K", "W_V"), ("W_in", "W_out")
    assert moved(other, attention).norm().item() == pytest.approx(2 * moved(other, mlp).norm().item(), rel=1e-3)
    cosine = torch.cosine_similarity(moved(one, attention), moved(other, attention), dim=0)
    assert cosine.item() == pytest.approx(1, abs=1e-4)


def test_after_a_reset_adam_steps_as_at_its_beginning(tiny):
    tiny = replace(
        tiny, optim=replace(tiny.optim, warmup=0.0, weight_decay=0.0, clip=0.0), prior=replace(tiny.prior, beta=0.0)
    )
    program = loaded(replace(tiny, do=Reset(start=3)))
    for _ in range(3):
        program.train_epoch()
    assert not any(tensor.any() for tensor in program.state["optim"].values())
    before = program.flat.clone()
    program.train_epoch()
    moved = (program.flat - before).abs()
    # the first step of Adam has the size of the learning rate wherever there is a gradient
    assert moved.max().item() == pytest.approx(tiny.optim.lr, rel=1e-2)


def test_what_is_switched_off_is_as_if_it_were_not_there(tiny):
    off = {
        "weight_decay": replace(tiny, optim=replace(tiny.optim, weight_decay=0.0)),
        "prior": replace(tiny, prior=replace(tiny.prior, beta=0.0)),
    }
    for name, config in off.items():
        mine, other = weights_after(replace(tiny, do=Switch(of=name)), 4), weights_after(config, 4)
        assert all(torch.equal(mine[key], other[key]) for key in mine), name
    still = weights_after(replace(tiny, do=Switch(of="lr")), 4)
    assert all(torch.equal(still[key], weight) for key, weight in weights_after(tiny, 0).items())
    only = replace(tiny, prior=replace(tiny.prior, beta=0.0), do=Switch(of="data"))
    shrunk, start = weights_after(only, 4), weights_after(tiny, 0)
    assert all(torch.cosine_similarity(shrunk[k].flatten(), start[k].flatten(), 0) > 0.9999 for k in start)


def test_noise_has_its_size(tiny):
    noisy = loaded(replace(tiny, do=WeightNoise(strength=0.1, once=True)))
    added = noisy.flat - loaded(tiny).flat
    assert added.std().item() == pytest.approx(0.1, rel=0.1)
    relative = loaded(replace(tiny, do=WeightNoise(strength=0.1, once=True, relative=True)))
    ratio = (relative.weights["W_in"] - loaded(tiny).weights["W_in"]).std() / loaded(tiny).weights["W_in"].std()
    assert ratio.item() == pytest.approx(0.1, rel=0.2)


def test_clamped_attention_is_what_it_is_clamped_to(tiny):
    for to, divergence in (("oracle", 0.0), ("uniform", torch.log(torch.tensor(5 / 2)).item())):
        program = loaded(replace(tiny, do=Clamp(to=to)))
        program.train_epoch()
        assert program.evaluate()["D"][0] == pytest.approx(divergence, abs=1e-5)
    program = loaded(replace(tiny, do=Clamp(to="oracle", end=2)))
    seen = []
    for _ in range(4):
        program.train_epoch()
        seen.append(program.evaluate()["D"][0])
    assert seen[0] == pytest.approx(0, abs=1e-5)
    assert min(seen[1:]) > 0.01


def test_resampling_changes_the_examples_of_a_step_and_not_what_is_measured(tiny):
    plain = loaded(tiny)
    tokens = lane_data(tiny)[0]["tokens"]
    for redraw in ("once", "every-step"):
        program = loaded(replace(tiny, do=Distractors(redraw=redraw)))
        first = program.acting.batch(*_lane(program))["tokens"]
        informative = program.train["informative"][0]
        assert torch.equal(first[informative], tokens[informative])
        assert torch.equal(first[:, -1], tokens[:, -1])
        changed = (first != tokens)[~informative].float().mean()
        assert 0.3 < changed < 0.6  # two of three places are distractors, and two of three symbols are others
        program.step += 1
        assert torch.equal(program.acting.batch(*_lane(program))["tokens"], first) is (redraw == "once")
        assert program.evaluate()["train_loss"] == pytest.approx(plain.evaluate()["train_loss"])
    labels = loaded(replace(tiny, do=Labels(strength=0.5)))
    wrong = (labels.acting.batch(*_lane(labels))["labels"] != labels.train["labels"][0]).float().mean()
    assert 0.2 < wrong < 0.7


def _lane(program):
    batch = {name: tensor[0] for name, tensor in program.train.items()}
    return batch, {key: value[0] for key, value in program.hyper.items()}, program.step[0], program.seed[0]


def test_two_at_once_do_what_each_does(tiny):
    pair = Both(first=Clamp(to="oracle"), second=Rescale(norm=4.0, hold=True))
    program = loaded(replace(tiny, do=pair))
    assert program.objective.fused
    program.train_epoch()
    assert program.evaluate()["D"][0] == pytest.approx(0, abs=1e-5)
    assert norm_of(program, "mlp").item() == pytest.approx(4.0, rel=1e-5)
    order = Both(first=Rescale(norm=4.0), second=Rescale(strength=0.5))
    assert norm_of(loaded(replace(tiny, do=order)), "mlp").item() == pytest.approx(2.0, rel=1e-5)


def test_what_does_not_apply_is_refused(tiny):
    vectors = replace(tiny, task=Parity(n=6, k=2, train_fraction=0.5, form="signs"), model=MLP(depth=2, width=8))
    vectors = replace(vectors, prior=replace(tiny.prior, beta=0.0))
    wrong = {
        "has no attention to clamp": replace(vectors, do=Clamp()),
        "has no attention, only": replace(vectors, do=Gradient()),
        "no distractors": replace(vectors, do=Distractors()),
        "no prior to switch": replace(vectors, do=Switch(of="prior")),
        "is not above start": replace(tiny, do=Clamp(start=3, end=2)),
        "frozen already": replace(tiny, do=Clamp(), constraint=replace(tiny.constraint, attention="oracle")),
        "one intervention only": replace(tiny, do=Both(first=Clamp(), second=Clamp(to="uniform"))),
        "is one of the parts": replace(tiny, do=Gradient(relative_to="attention")),
        "needs the norm to hold": replace(tiny, do=Rescale(hold=True)),
        "need the full batch": replace(tiny, do=Labels(redraw="once"), batch_size=16),
    }
    for problem, config in wrong.items():
        with pytest.raises(ConfigError, match=problem):
            config.check()


def test_the_registry_is_the_component_do():
    assert COMPONENTS["do"] is interventions
