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

from grokscope.tasks import Task, tasks
from grokscope.tasks.table import TableTask

VARIANTS = [
    *((kind, {}) for kind in tasks.entries()),
    *((kind, {"test_distractors": 6}) for kind, cls in tasks.entries().items() if issubclass(cls, TableTask)),
    *((kind, {"train_size": 11, "test_size": 9}) for kind in tasks.entries()),
    ("modular", {"alphabet": "operands", "positions": (3, 1)}),
    ("modular", {"distractors": 0}),
    ("modular", {"op": "/", "placement": "random", "test_distractors": 5}),
    ("modular", {"op": "/ or -"}),
    ("modular", {"pairs": "unordered", "distractors": 0}),
    ("modular", {"op": "-", "pairs": "a>=b", "distractors": 0}),
    ("modular", {"p": 401, "train_size": 50}),
    ("k-addition", {"p": 113, "test_size": 30}),
    ("parity", {"n": 40, "k": 3}),
    ("parity", {"form": "signs"}),
    ("ar-parity", {"n": 70, "k": 2, "positions": (69, 30)}),
]


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_shape_is_that_of_the_built_data(small: Callable[..., Task], kind: str, settings: dict) -> None:
    task = small(kind, **settings)
    shape, split = task.shape, task.split(0)
    widths = (shape.features,) * 2 if shape.features else (shape.length, shape.test_length)
    assert split.train.inputs.shape == (shape.train_size, widths[0])
    assert split.test.inputs.shape == (shape.test_size, widths[1])
    for part in split:
        assert part.inputs.dtype == (torch.float32 if shape.features else torch.long)
        assert part.labels.dtype == (torch.float32 if shape.regression else torch.long)
        assert part.labels.shape == (part.inputs.shape if shape.every_position else part.inputs.shape[:1])
        assert part.inputs.isfinite().all()
        if not shape.regression:
            assert part.labels.min() >= 0
            assert part.labels.max() < shape.classes
    assert not shape.regression or shape.classes == 1


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_of_tokens_the_query_comes_last(small: Callable[..., Task], kind: str, settings: dict) -> None:
    task = small(kind, **settings)
    if task.shape.features:
        assert task.shape.vocabulary == task.shape.length == task.shape.test_length == 0
        return
    for part in task.split(0):
        assert part.inputs.min() >= 0
        assert (part.inputs[:, -1] == task.shape.vocabulary - 1).all()
        assert (part.inputs[:, :-1] < task.shape.vocabulary - 1).all()


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_the_informative_tokens_are_known_where_the_task_says_so(
    small: Callable[..., Task], kind: str, settings: dict
) -> None:
    task = small(kind, **settings)
    for part in task.split(0):
        if part.informative is None:
            assert task.shape.features or not task.knows_informative
        else:
            assert part.informative.shape == part.inputs.shape
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
        assert all(torch.equal(x, y) for x, y in zip(part, same, strict=True) if x is not None)
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
