"""Proposals on made-up losses: a support is found by what its parts or its supersets show."""

import itertools
import math

import pytest

from grokscope.searching.candidates import Standing
from grokscope.searching.proposals.auto import Auto
from grokscope.searching.proposals.base import Pool, proposals
from grokscope.searching.proposals.groups import Groups
from grokscope.searching.proposals.grow import Grow
from grokscope.searching.proposals.subsets import Subsets


def screened(proposal, units, sizes, affordable, loss):
    """All supports that a proposal tries, in order, given the loss of each."""
    tried = {}
    for rounds in itertools.count():
        left = affordable - len(tried)
        proposed = proposal.next(Pool(range(units), sizes, dict(tried), left, rounds, 0))[:left]
        assert not set(proposed) & set(tried), "none is tried twice"
        assert all(units_ == tuple(sorted(set(units_))) for units_ in proposed)
        if not proposed:
            return list(tried)
        tried |= {own: Standing(own, loss(set(own)), 0.1, 0.0) for own in proposed}


def parts_help(own):
    """Each of 3, 7 and 12 helps a little, others cost a little."""
    return 3.0 - 0.5 * len(own & {3, 7, 12}) + 0.1 * len(own - {3, 7, 12})


def only_supersets_help(own):
    """Nothing shows before all three are there."""
    return 3.0 - 1.0 * ({3, 7, 12} <= own) + 0.01 * len(own)


@pytest.mark.parametrize("kind", sorted(proposals.entries()))
def test_every_proposal_ends_within_what_it_can_afford(kind):
    tried = screened(proposals.get(kind)(), 8, [1, 2], 40, parts_help)
    assert 0 < len(tried) <= 40


def test_subsets_are_all_of_the_wanted_sizes():
    assert screened(Subsets(), 5, [1, 2], 99, parts_help) == [
        *((unit,) for unit in range(5)),
        *itertools.combinations(range(5), 2),
    ]


def test_auto_takes_all_subsets_where_they_fit_and_grows_where_not():
    assert len(screened(Auto(), 8, [2], 28, parts_help)) == 28
    tried = screened(Auto(), 16, [1, 2, 3], 150, parts_help)
    assert len(tried) <= 150 < math.comb(16, 3)
    assert (3, 7, 12) in tried


def test_growing_finds_what_its_parts_show():
    tried = screened(Grow(), 16, [3], 200, parts_help)
    assert min(tried, key=lambda own: parts_help(set(own))) == (3, 7, 12)


def test_group_tests_find_what_only_supersets_show():
    tried = screened(Groups(), 16, [3], 200, only_supersets_help)
    assert (3, 7, 12) in tried
    assert (3, 7, 12) not in screened(Grow(), 32, [3], 100, only_supersets_help)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("units", [4, 9])
def test_grow_reaches_a_wanted_size_with_what_it_needs_and_not_with_less(size, units):
    least = Grow().least(Pool(range(units), [size], {}, 0, 0, 0))
    sizes = [max(map(len, screened(Grow(), units, [size], afforded, parts_help))) for afforded in (least, least - 1)]
    assert sizes[0] == size
    assert size == 1 or sizes[1] < size
