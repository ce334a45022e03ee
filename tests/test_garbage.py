"""Objects that a search for garbage leaves out."""

import gc

import pytest

from grokscope.garbage import spare_more, spared_objects


@pytest.fixture(autouse=True)
def nothing_set_aside():
    assert gc.get_freeze_count() == 0
    yield
    gc.unfreeze()


def test_what_is_made_later_is_spared_when_asked():
    with spared_objects():
        kept = [[] for _ in range(50)]
        assert any(one is kept for one in gc.get_objects())
        spare_more()
        assert not any(one is kept for one in gc.get_objects())
    assert gc.get_freeze_count() == 0
    assert any(one is kept for one in gc.get_objects()), "searched again afterwards"


def test_garbage_is_freed_before_the_rest_is_spared():
    class Node:
        freed = 0

        def __del__(self):
            Node.freed += 1

    with spared_objects():
        node = Node()
        node.itself = node
        del node
        spare_more()
        assert Node.freed == 1


def test_without_spared_objects_nothing_is_set_aside():
    spare_more()
    assert gc.get_freeze_count() == 0
