"""Families of supports: which tokens each unit stands for, and the prior that draws attention to them."""

from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.launch.plan import signature
from grokscope.priors.support import SupportKL
from grokscope.supports.base import family, mask_of, supports
from grokscope.supports.classes import symbol_classes
from grokscope.tasks.modular import Modular

TOKENS = torch.tensor([[5, 1, 5, 2, 9], [1, 5, 3, 1, 9]])


@pytest.mark.parametrize(
    ("kind", "units", "wanted"),
    [
        ("positions", (0, 3), [[1, 0, 0, 1, 0]] * 2),
        ("relative", (1, 4), [[1, 0, 0, 1, 0]] * 2),
        ("after", (5,), [[0, 1, 0, 1, 0], [0, 0, 1, 0, 0]]),
    ],
)
def test_masks_by_hand(kind, units, wanted):
    assert mask_of(kind, units, TOKENS).int().tolist() == wanted


def test_classes_are_the_symbols_that_occur_about_equally_often():
    task = Modular(p=23, distractors=3, alphabet=5, placement="random", train_fraction=0.9)
    train = task.split(0).train
    classes = symbol_classes(train.inputs)
    assert classes[:23].unique().tolist() == [0]
    assert classes[23:28].unique().tolist() == [1]
    assert torch.equal(mask_of("classes", (0,), train.inputs), train.informative)


@pytest.mark.parametrize("kind", sorted(supports.entries()))
def test_every_unit_of_every_family_is_valid_and_leaves_out_the_query(kind):
    train = Modular(p=7, distractors=3, alphabet=1, placement="random", train_fraction=0.9).split(0).train
    units = family(kind).units(train.inputs)
    shape = (train.inputs.shape[1], int(train.inputs.max()) + 1)
    assert units and not any(family(kind).problem(*shape, unit) for unit in units)
    for unit in units:
        mask = mask_of(kind, (unit,), train.inputs)
        assert mask.shape == train.inputs.shape and mask.any() and not mask[:, -1].any()
        if family(kind).same_places:
            assert torch.equal(mask, mask[:1].expand_as(mask))


def test_the_target_is_uniform_over_the_support(tiny):
    prior = SupportKL(beta=1.0, units=(0, 2))
    target = prior.target_for(tiny.task.split(0).train, 0)
    assert target.tolist() == [[0.5, 0.0, 0.5, 0.0, 0.0]] * len(target)


def test_the_target_of_an_example_without_support_is_uniform():
    examples = Modular(p=5, distractors=1, train_fraction=0.5).split(0).train._replace(inputs=TOKENS[:, :4])
    target = SupportKL(family="after", units=(3,)).target_for(examples, 0)
    assert target.tolist() == [[0.25] * 4, [0.25] * 4]


def test_candidates_share_one_program(tiny):
    one, other = (replace(tiny, prior=SupportKL(beta=1.0, units=units)) for units in ((0,), (1, 3)))
    assert signature(one) == signature(other)
    assert one.id != other.id


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (SupportKL(units=()), "prior.units: a support needs at least one unit"),
        (SupportKL(units=(4,)), "prior.units: 4 is outside 0 … 3: the query comes next"),
        (SupportKL(units=(1, 1)), "prior.units: [1, 1] names a unit twice"),
        (SupportKL(family="relative", units=(0,)), "prior.units: 0 is outside 1 … 4, the tokens before the query"),
    ],
)
def test_invalid_supports(tiny, prior, message):
    with pytest.raises(ConfigError) as error:
        replace(tiny, prior=prior).check()
    assert str(error.value) == message
