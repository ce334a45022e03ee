"""Runs enter and leave lanes: what they share is copied once, and what differs is never left out."""

from dataclasses import replace

import pytest
import torch

from grokscope.fleet.data import lane_data
from grokscope.fleet.layout import Layout
from grokscope.fleet.program import Program
from grokscope.priors.support import SupportKL
from grokscope.tickets.initial import Random

CPU = torch.device("cpu")


@pytest.fixture
def candidates(tiny):
    """Runs that differ in their priors alone, as those of a search do."""
    return [replace(tiny, prior=SupportKL(beta=1.0, units=units)) for units in ((0, 1), (0, 2), (1, 2))]


def filled(*configs):
    program = Program(configs[0], len(configs), CPU)
    for lane, config in enumerate(configs):
        program.load(lane, config, lane_data(config))
    return program


def same_data(first, other):
    for name in ("train", "test"):
        own, its = getattr(first, name), getattr(other, name)
        assert own.keys() == its.keys()
        assert all(torch.equal(own[key], its[key]) for key in own), name
    assert torch.equal(first.flat, other.flat)


def test_a_lane_that_held_another_run_is_as_new(candidates, tiny):
    """Another prior, other data, the first run again: whatever the lane held before."""
    program = filled(candidates[0], candidates[0])
    for config in (candidates[1], replace(tiny, seed=5, prior=candidates[2].prior), candidates[2], candidates[0]):
        program.load(1, config, lane_data(config))
        same_data(program, filled(candidates[0], config))


def test_data_that_were_written_to_are_copied_again(candidates):
    program = filled(*candidates)
    data = lane_data(candidates[1])
    fresh = tuple({name: tensor.clone() for name, tensor in side.items()} for side in data)
    program.load(1, candidates[1], fresh)
    fresh[0]["labels"].fill_(3)
    program.load(1, candidates[1], fresh)
    assert program.train["labels"][1].eq(3).all()
    assert not program.train["labels"][0].eq(3).all()


@pytest.mark.parametrize("stay", [False, True])
def test_several_lanes_leave_as_each_would_alone(candidates, tiny, stay):
    program = filled(candidates[0], replace(candidates[1], ticket=Random(rate=0.5)), candidates[2])
    for _ in range(3):
        program.train_epoch()
    together = program.unload_each([2, 1], stay)
    for own, lane in zip(together, (2, 1), strict=True):
        alone = program.unload(lane)
        assert own.keys() == alone.keys()
        assert all(torch.equal(own[name], alone[name]) for name in own)
    assert any(name.startswith("mask/") for name in together[1])
    memories = [{tensor.untyped_storage().data_ptr() for tensor in own.values()} for own in together]
    assert not memories[0] & memories[1], "one run would keep the memory of the other"
    program.train_epoch()
    assert torch.equal(together[0]["step"], torch.tensor(3))


def test_a_run_enters_a_lane_as_by_its_named_tensors(candidates, tiny):
    """What leaves a lane is copied as whole vectors; a checkpoint from the disk has a tensor per weight."""
    masked = replace(candidates[1], ticket=Random(rate=0.5))
    program = filled(candidates[0], masked, candidates[2])
    program.train_epoch(3)
    whole, named = filled(candidates[0], masked, candidates[2]), filled(candidates[0], masked, candidates[2])
    for lane, own in zip((2, 0, 1), program.unload_each([0, 1, 2]), strict=True):
        whole.load(lane, masked, lane_data(masked), own)
        named.load(lane, masked, lane_data(masked), {name: tensor.clone() for name, tensor in own.items()})
        assert own.nbytes == sum(tensor.nbytes for tensor in own.values())
        assert len(own) == len(list(own))
    assert torch.equal(whole.flat, named.flat) and torch.equal(whole.mask, named.mask)
    assert torch.equal(whole.step, named.step) and whole.step.eq(3).all()
    for name, state in whole.state["optim"].items():
        assert torch.equal(state, named.state["optim"][name]) and state.any()


def test_the_next_run_in_a_lane_has_its_own_numbers(candidates):
    first, other = candidates[0], replace(candidates[1], prior=replace(candidates[1].prior, beta=0.25), order_seed=9)
    program = filled(first, first)
    for config in (other, first, first, other):
        program.load(1, config, lane_data(config), since=3 if config is other else 0)
        assert program.hyper["prior.beta"].tolist() == [first.prior.beta, config.prior.beta]
        assert program.hyper["branch.epoch"].tolist() == [0.0, 3.0 if config is other else 0.0]
        assert program.seed.tolist() == [first.seed_for("order"), config.seed_for("order")]


def test_a_vector_is_recognised_by_its_parts_alone(tiny):
    layout = Layout(tiny.model.parameters(tiny.task.shape))
    vector = torch.arange(2.0 * layout.size).view(2, -1)
    parts = layout.cut(vector[1])
    assert torch.equal(layout.whole(parts), vector[1])
    first, *_, last = parts
    others = {
        "a copy": parts | {last: parts[last].clone()},
        "missing": {name: part for name, part in parts.items() if name != last},
        "of another run": parts | {first: layout.cut(vector[0])[first]},
        "transposed": {name: part.mT.contiguous().mT if part.ndim > 1 else part for name, part in parts.items()},
    }
    for name, own in others.items():
        assert layout.whole(own) is None, name
    assert layout.whole({}) is None
