"""What holds for every equation: batching, both precisions, gradients, vmap, and one line for every bad argument.

Arguments are made from the annotations: axes give shapes, contracts give values.
"""

from __future__ import annotations

import inspect
import typing
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from grokscope.papers import all_equations
from grokscope.theory import contracts
from grokscope.theory.equations import Equation

SIZES = {"position": 4, "width": 3, "d": 3, "hidden": 5, "out": 2, "class": 3, "input": 6, "head": 2, "weight": 7}
SIZES |= {"neuron": 2, "example": 3, "output": 2, "frequency": 4}

MAKE = {
    contracts.distribution: lambda x: torch.softmax(x, -1),
    contracts.log_distribution: lambda x: torch.log_softmax(x, -1),
    contracts.everywhere: lambda x: x,  # a softmax has no zeros
    contracts.positive: lambda x: x if x.min() > 0 else x.exp(),
    contracts.nonnegative: torch.exp,
    contracts.share: torch.sigmoid,
    contracts.below_one: lambda x: x if 0 <= x.min() and x.max() < 1 else torch.sigmoid(x),
    contracts.rate: torch.sigmoid,
}

BREAK = {
    contracts.distribution: (lambda x: 2 * x, "sums to"),
    contracts.log_distribution: (lambda x: x + 1, "sums to"),
    contracts.everywhere: (lambda x: torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]).to(x), "is not above 0"),
    contracts.positive: (torch.zeros_like, "0 is not above 0"),
    contracts.nonnegative: (lambda x: -x - 1, "is below 0"),
    contracts.share: (lambda x: x + 1, "is outside"),
    contracts.below_one: (torch.ones_like, "1 is outside"),
    contracts.rate: (torch.zeros_like, "0 is outside"),
    contracts.support: (torch.zeros_like, "k = 0, no position is informative"),
    contracts.spare: (torch.ones_like, "no distractor is left"),
    contracts.within_sequence: (lambda x: x + 4, "is outside a sequence of 4 positions"),
}


def over(chosen: list[Equation]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("equation", chosen, ids=lambda e: e.name)


every_equation = over(all_equations())


def hints(equation: Equation) -> dict[str, Any]:
    found = typing.get_type_hints(equation.function, include_extras=True)
    return {name: found[name] for name in inspect.signature(equation.function).parameters if name != "dtype"}


def terms(hint: Any) -> tuple[str, list[Any]]:
    """Axes and contracts of an annotation."""
    axes, *contracts_ = hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ("",)
    return axes, contracts_


def raw(equation: Equation, lead: tuple[int, ...] = (2, 3), seed: int = 1) -> dict[str, Any]:
    """Free numbers for every argument; `legal` turns them into what the contracts ask for."""
    generator = torch.Generator().manual_seed(seed)
    values: dict[str, Any] = {}
    for name, hint in hints(equation).items():
        axes, asked = terms(hint)
        shape = *lead, *(SIZES[axis] for axis in axes.split() if axis != "...")
        if getattr(hint, "__origin__", None) is float:
            values[name] = 0.4
        elif name == "layers":
            values[name] = [torch.randn(*lead, a, b, generator=generator).double() for a, b in ((3, 4), (4, 2))]
        elif contracts.within_sequence in asked:
            values[name] = torch.randint(0, SIZES["position"], shape, generator=generator)
        elif contracts.support in asked or contracts.spare in asked:
            values[name] = torch.randint(0, 2, shape, generator=generator).bool()
            values[name][..., 0], values[name][..., 1] = True, False
        elif name == "mask" or name == "other_mask":
            values[name] = torch.randint(0, 2, shape, generator=generator).bool()
        else:
            values[name] = torch.randn(shape, generator=generator).double()
    return values


def legal(equation: Equation, values: dict[str, Any]) -> dict[str, Any]:
    made = {}
    for name, value in values.items():
        for contract in terms(hints(equation)[name])[1]:
            if isinstance(value, Tensor) and value.is_floating_point():
                value = MAKE[contract](value)
        made[name] = value
    return made


def change(values: dict[str, Any], how: Any) -> dict[str, Any]:
    def one(value: Any) -> Any:
        return (
            [how(v) for v in value] if isinstance(value, list) else how(value) if isinstance(value, Tensor) else value
        )

    return {name: one(value) for name, value in values.items()}


def results(value: Any) -> list[Tensor]:
    """What a function returns, as a list of tensors."""
    found = list(value) if isinstance(value, (list, tuple)) else [value]
    return [v if isinstance(v, Tensor) else torch.tensor(v, dtype=torch.float64) for v in found]


@every_equation
def test_leading_axes_are_a_batch(equation: Equation) -> None:
    arguments = legal(equation, raw(equation))
    together = results(equation.function(**arguments))
    for i in range(2):
        for j in range(3):
            alone = results(equation.function(**change(arguments, lambda t, i=i, j=j: t[i, j])))
            for a, b in zip(alone, together, strict=True):
                assert_close(a, b[i, j])


@every_equation
def test_both_precisions(equation: Equation) -> None:
    arguments = legal(equation, raw(equation))
    single = change(arguments, lambda t: t.float() if t.is_floating_point() else t)
    for low, high in zip(results(equation.function(**single)), results(equation.function(**arguments)), strict=True):
        if high.dtype == torch.float64 and any(t.dtype == torch.float64 for t in floats(arguments)):
            assert low.dtype == torch.float32
        assert_close(low, high, rtol=1e-3, atol=1e-4, check_dtype=False)


def floats(arguments: dict[str, Any]) -> list[Tensor]:
    flat = [t for v in arguments.values() for t in (v if isinstance(v, list) else [v])]
    return [t for t in flat if isinstance(t, Tensor) and t.is_floating_point()]


def smooth(equation: Equation) -> bool:
    """Its arguments or its results may be sets, which have no gradient."""
    values = legal(equation, raw(equation))
    return bool(floats(values)) and any(t.dtype != torch.bool for t in results(equation.function(**values)))


@over([e for e in all_equations() if smooth(e)])
def test_gradients_are_those_of_finite_differences(equation: Equation) -> None:
    values = raw(equation, lead=(2,))
    free = [name for name in values if floats({name: values[name]})]
    flat = [t.requires_grad_() for t in floats(values)]

    def function(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = {"layers": list(tensors)} if free == ["layers"] else dict(zip(free, tensors, strict=True))
        found = results(equation.function(**legal(equation, values | given)))
        return tuple(t for t in found if t.is_floating_point() or t.is_complex())

    assert torch.autograd.gradcheck(function, flat, atol=1e-4, rtol=1e-3)


@every_equation
def test_it_runs_under_vmap_where_values_cannot_be_read(equation: Equation) -> None:
    arguments = legal(equation, raw(equation))
    names = [name for name, value in arguments.items() if not isinstance(value, float)]
    fixed = {name: value for name, value in arguments.items() if name not in names}

    def one(*given: Any) -> Any:
        return equation.function(**dict(zip(names, given, strict=True)), **fixed)

    lanes = torch.func.vmap(one)(*(arguments[name] for name in names))
    for a, b in zip(results(lanes), results(equation.function(**arguments)), strict=True):
        assert_close(a, b)


@every_equation
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_non_finite_values_are_named(equation: Equation, bad: float) -> None:
    arguments = legal(equation, raw(equation))
    for name, value in arguments.items():
        spoiled = change({name: value}, lambda t: t.clone())[name]
        first = spoiled[0] if isinstance(spoiled, list) else spoiled
        if not isinstance(first, Tensor):
            spoiled = bad
        elif first.is_floating_point():
            first.view(-1)[-1] = bad
        else:
            continue
        with pytest.raises(ValueError) as caught:
            equation.function(**arguments | {name: spoiled})
        assert str(caught.value) == f"{equation.name}({name}): {bad} is not finite"


@every_equation
def test_broken_contracts_are_named(equation: Equation) -> None:
    arguments = legal(equation, raw(equation))
    for name, hint in hints(equation).items():
        for contract in terms(hint)[1]:
            spoil, why = BREAK[contract]
            value = torch.as_tensor(arguments[name])
            with pytest.raises(ValueError) as caught:
                equation.function(**arguments | {name: spoil(value)})
            message = str(caught.value)
            assert message.startswith(f"{equation.name}({name}): ") and why in message and "\n" not in message


def over_positions(equation: Equation) -> list[str]:
    return [name for name, hint in hints(equation).items() if "position" in terms(hint)[0].split()]


@over([e for e in all_equations() if len(over_positions(e)) > 1])
def test_support_beyond_the_sequence_is_named(equation: Equation) -> None:
    """Two arguments over the same positions must have the same length."""
    arguments = legal(equation, raw(equation))
    name = over_positions(equation)[-1]
    axes = terms(hints(equation)[name])[0].split()
    axis = axes.index("position") - len(axes)
    longer = torch.cat([arguments[name], arguments[name].narrow(axis, 0, 1)], axis)
    with pytest.raises(ValueError, match=rf"^{equation.name}\({name}\) should be"):
        equation.function(**arguments | {name: longer})
