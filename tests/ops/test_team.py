"""Blocks of one run's work: all of them, once each, by whichever thread is idle; and threads that are given back."""

import threading
from contextlib import ExitStack

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from grokscope.ops.team import block_bounds, each_block, team_of

WAIT = 600
"""Seconds after which a test that waits for an event fails."""


@given(st.integers(0, 5000), st.integers(1, 1500))
def test_blocks_cover_all_examples_and_are_of_much_the_same_size(examples, largest):
    bounds = block_bounds(examples, largest)
    assert bounds == block_bounds(examples, largest)
    assert [begin for begin, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
    assert bounds[-1][1] == examples
    sizes = [end - begin for begin, end in bounds]
    assert max(sizes) <= largest
    assert len(set(sizes[:-1])) <= 1
    assert sizes[-1] <= sizes[0]


@given(st.integers(1, 4), st.integers(1, 40))
def test_every_block_is_done_once(threads, blocks):
    done = [0] * blocks

    def work(block):
        done[block] += 1

    with team_of(threads) as team, team.member():
        each_block(work, blocks)
    assert done == [1] * blocks


def test_without_a_team_the_caller_does_it_all():
    who = set()
    each_block(lambda block: who.add(threading.get_ident()), 5)
    assert who == {threading.get_ident()}


def test_idle_cores_help_with_one_thread_each_and_without_autograd():
    both, seen = threading.Barrier(2), {}

    def work(block):
        both.wait(WAIT)  # two threads, or nobody gets through
        seen[threading.get_ident()] = (torch.get_num_threads(), torch.is_grad_enabled())

    with team_of(2) as team, team.member():
        each_block(work, 2)
    assert seen.pop(threading.get_ident()) == (1, True)
    assert list(seen.values()) == [(1, False)]


def test_a_core_that_trains_a_run_does_not_help():
    who = set()
    with team_of(3) as team, ExitStack() as members:
        for _ in range(3):
            members.enter_context(team.member())
        each_block(lambda block: who.add(threading.get_ident()), 6)
    assert who == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bad", [0, 1, 7])
def test_an_error_is_raised_when_nobody_works_on_and_the_team_goes_on(threads, bad):
    inside, lock = [0], threading.Lock()

    def work(block):
        with lock:
            inside[0] += 1
        try:
            if block == bad:
                raise ValueError("bad block")
        finally:
            with lock:
                inside[0] -= 1

    with team_of(threads) as team, team.member():
        with pytest.raises(ValueError, match="bad block"):
            each_block(work, 8)
        assert inside == [0]
        done = set()
        each_block(done.add, 8)
    assert done == set(range(8))


def later_threads():
    """With how many threads of PyTorch a new thread begins."""
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def test_threads_are_given_back_in_whatever_order_members_leave():
    """The second member begins while the first has set one thread, and leaves last."""
    before = torch.get_num_threads()
    entered, leave = ([threading.Event(), threading.Event()] for _ in range(2))
    torch.set_num_threads(2)
    try:
        with team_of(2) as team:

            def member(number):
                with team.member():
                    entered[number].set()
                    assert leave[number].wait(WAIT)

            threads = [threading.Thread(target=member, args=(number,)) for number in range(2)]
            for number, thread in enumerate(threads):
                thread.start()
                assert entered[number].wait(WAIT)
            for number, thread in enumerate(threads):
                leave[number].set()
                thread.join()
        assert torch.get_num_threads() == later_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_dispatch_mode_sees_all_work():
    """It is active in the calling thread alone."""
    who = set()
    with team_of(3) as team, team.member(), FlopCounterMode(display=False):
        each_block(lambda block: who.add(threading.get_ident()), 8)
    assert who == {threading.get_ident()}
