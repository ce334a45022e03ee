"""What holds for every registered task."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Callable

import pytest
import torch

from grokscope.tasks import Examples, Task, tasks

VARIANTS = [
    *((kind, {}) for kind in tasks.entries()),
    *((kind, {"test_distractors": 6}) for kind in tasks.entries()),
    *((kind, {"train_size": 11, "test_size": 9}) for kind in tasks.entries()),
    ("modular", {"alphabet": "operands", "positions": (3, 1)}),
    ("modular", {"distractors": 0}),
    ("modular", {"op": "/", "placement": "random", "test_distractors": 5}),
    ("modular", {"p": 401, "train_size": 50}),
    ("k-addition", {"p": 113, "test_size": 30}),
    ("parity", {"n": 40, "k": 3}),
    ("ar-parity", {"n": 70, "k": 2, "positions": (69, 30)}),
]


def built(examples: Examples) -> tuple[int, int]:
    size, length = examples.inputs.shape
    assert examples.informative.shape == (size, length)
    return size, length


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_shape_is_that_of_the_built_data(small: Callable[..., Task], kind: str, settings: dict) -> None:
    task = small(kind, **settings)
    shape, split = task.shape, task.split(0)
    assert built(split.train) == (shape.train_size, shape.length)
    assert built(split.test) == (shape.test_size, shape.test_length)
    for part in split:
        assert part.inputs.dtype == part.labels.dtype == torch.long
        assert part.labels.shape == (part.inputs.shape if shape.every_position else part.inputs.shape[:1])
        assert part.inputs.min() >= 0
        assert part.inputs.max() == shape.vocabulary - 1
        assert part.labels.min() >= 0
        assert part.labels.max() < shape.classes


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_the_query_comes_last_and_is_not_informative(small: Callable[..., Task], kind: str, settings: dict) -> None:
    task = small(kind, **settings)
    for part in task.split(0):
        assert (part.inputs[:, -1] == task.shape.vocabulary - 1).all()
        assert (part.inputs[:, :-1] < task.shape.vocabulary - 1).all()
        assert not part.informative[:, -1].any()
        assert (part.informative.sum(dim=1) == task.k).all()


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_settings_survive_json(small: Callable[..., Task], kind: str, settings: dict) -> None:
    task = small(kind, **settings)
    plain = json.loads(json.dumps(task.to_dict()))
    assert plain["kind"] == kind
    assert tasks.get(plain["kind"]).from_dict(plain) == task


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_data_depend_on_settings_and_seed_alone(small: Callable[..., Task], kind: str, settings: dict) -> None:
    task = small(kind, **settings)
    torch.manual_seed(0)
    once = task.split(3)
    torch.manual_seed(1)
    again, other = task.split(3), task.split(4)
    for part, same, different in zip(once, again, other, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(part, same, strict=True))
        assert not torch.equal(part.inputs, different.inputs)


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_building_leaves_the_global_generator_alone(small: Callable[..., Task], kind: str, settings: dict) -> None:
    before = torch.get_rng_state()
    small(kind, **settings).split(0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", tasks.entries())
def test_defaults_are_possible(kind: str) -> None:
    tasks.get(kind)().check()


@pytest.mark.parametrize("kind", tasks.entries())
def test_task_and_settings_are_described(kind: str) -> None:
    entry = tasks.get(kind)
    assert entry.__doc__
    assert not entry.__doc__.startswith(f"{entry.__name__}(")  # what dataclass writes by itself
    described = {name for cls in entry.__mro__ if issubclass(cls, Task) for name in described_fields(cls)}
    assert described >= {field.name for field in dataclasses.fields(entry)}


def described_fields(cls: type) -> list[str]:
    """Fields followed by a docstring in the source of `cls`."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(definition, ast.ClassDef)
    return [
        field.target.id
        for field, text in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    ]
