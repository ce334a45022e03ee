"""Any plain value gives a config or a ConfigError of one line: from dicts, TOML files and --set.

Random values rarely pass the first check, so most examples replace one part of a valid config by an arbitrary value. The number
of examples is multiplied by GROKSCOPE_EXAMPLES for a longer search.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grokscope.cli.app import parse_seeds, parse_sets
from grokscope.config import COMPONENTS, RunConfig
from grokscope.config.files import read_config
from grokscope.errors import ConfigError, shown
from grokscope.launch.grid import read_grid
from grokscope.settings import Settings, flatten

MANY = int(os.environ.get("GROKSCOPE_EXAMPLES", "1"))
often = settings(max_examples=300 * MANY, derandomize=MANY == 1, database=None)

odd_words = st.one_of(
    st.sampled_from(
        ["", " 7 ", "1e9", "1e400", "nan", "-inf", "none", "true", "1_000", "²", "٣", "1,2,x", ",", "..", "−"]
    ),
    st.sampled_from(
        ["\0", "\ud800", "a\nb", "[/x]", "[red]", "t_grok", "../..", "/dev/null", "9" * 5000, "x" * 10_000]
    ),
)
odd_numbers = st.one_of(
    st.sampled_from([-1, 0, 2**31, 2**61 - 1, 2**63, 1e9, 1e308, 0.5, -0.0]),
    st.sampled_from([308, 400, 5000]).map(lambda digits: 10**digits),  # the longest cannot be printed
)
anything = st.text(st.characters(codec=None), max_size=8)  # lone surrogates included


def nested(depth: int) -> object:
    value: object = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@cache
def valid() -> list[dict]:
    """The settings of a config with each kind of each component."""
    found = []
    for field, registry in COMPONENTS.items():
        found += [RunConfig.from_dict({field: {"kind": kind}}).to_dict() for kind in registry.entries()]
    return found


@cache
def names() -> list[str]:
    return sorted({name for plain in valid() for name in flatten(plain)} | {*COMPONENTS, "log", "stop", "noise"})


def kinds() -> st.SearchStrategy[str]:
    return st.sampled_from(sorted({kind for registry in COMPONENTS.values() for kind in registry.entries()}))


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), anything, odd_words, odd_numbers, st.deferred(kinds)
)
deep = st.sampled_from([10, 900, 5000]).map(nested)
plain_values = st.recursive(
    leaves | deep,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(anything | st.deferred(lambda: st.sampled_from(names())), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(plain: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all values in a table."""
    inner = plain.items() if isinstance(plain, dict) else ()
    return ([path] if path else []) + [place for name, value in inner for place in places(value, (*path, name))]


@st.composite
def changed(draw: st.DrawFn, values: st.SearchStrategy = plain_values) -> dict:
    """A valid config in which one to three values or tables are others."""
    plain = copy.deepcopy(draw(st.sampled_from(valid())))
    for _ in range(draw(st.integers(1, 3))):
        *path, name = draw(st.sampled_from(places(plain)))
        branch = plain
        for word in path:
            branch = branch[word]
        branch[draw(st.sampled_from([name, name, name, "kind", "extra"]))] = draw(values)
    return plain


@contextmanager
def one_line():
    """What is refused is refused with a ConfigError that can be printed on one line."""
    try:
        yield
    except ConfigError as error:
        text = str(error)
        assert text.isprintable() and len(text) < 3000


def test_every_kind_is_shown_as_the_call_that_makes_it():
    for plain in valid():
        config = RunConfig.from_dict(plain)
        shown_parts = [part for name, part in config.components().items() if part != getattr(RunConfig(), name)]
        names = {type(part).__qualname__: type(part) for shown_part in shown_parts for part in parts(shown_part)}
        assert eval(repr(config), names | {"RunConfig": RunConfig}) == config


def parts(config: Settings) -> Iterator[Settings]:
    yield config
    for part in config.components().values():
        yield from parts(part)


@settings(often)
@given(plain_values)
@example([])
@example({"task": {"kind": ["modular"]}})
@example({"epochs": 10**400})
@example({"optim": {"lr": 10**400}})
@example({1: 2})
def test_any_plain_value_gives_a_config_or_a_config_error(plain):
    with one_line():
        RunConfig.from_dict(plain)


@settings(often)
@given(changed())
def test_a_config_with_changed_values_is_read_back_as_it_was_or_refused(plain):
    with one_line():
        config = RunConfig.from_dict(plain)
        again = RunConfig.from_dict(json.loads(json.dumps(config.to_dict(), allow_nan=False)))
        assert again == config and again.id == config.id and again.to_dict() == config.to_dict()
        config.check()


@pytest.mark.parametrize("place", ["task", "epochs", "model", "extra"])
def test_deep_nesting_is_refused_like_any_other_value(place):
    with pytest.raises(ConfigError) as refused:
        RunConfig.from_dict({place: nested(100_000)})
    assert len(str(refused.value)) < 300


numbers_of_a_kind = st.one_of(
    st.integers(-2, 40), st.floats(0, 1), odd_numbers, odd_words, st.deferred(kinds), st.lists(st.integers(0, 3))
)


@settings(often)
@given(changed(numbers_of_a_kind))
@example({"task": {"kind": "modular", "p": 2**61 - 1, "op": "/"}})
@example({"task": {"kind": "k-addition", "k": 10**9}})
@example({"task": {"kind": "parity", "n": 10**9}})
@example({"model": {"layers": 10**9, "scope": "causal"}})
@example({"task": {"kind": "parity", "form": "signs"}, "model": {"kind": "mlp", "depth": 10**9}})
def test_checking_a_config_makes_nothing_of_the_size_that_it_asks_for(plain):
    with one_line():
        RunConfig.from_dict(plain).check()


toml_values = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=True).map(repr),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=6).map(json.dumps),
    st.deferred(lambda: kinds().map(json.dumps)),
    st.sampled_from(
        ["true", "[]", "[0.5]", "{}", "{kind = [1]}", "1979-05-27", "07:32:00", "9" * 400, "9" * 5000, '"[/x]"']
    )
    | st.sampled_from(["[" * 400 + "]" * 400, "[" * 5000 + "]" * 5000, "[[1], [2]]", '"\\u0000"', "0x" + "f" * 5000]),
)
toml_lines = st.lists(
    st.tuples(st.deferred(lambda: st.sampled_from([*names(), "seeds", "x", '"a.b"', "model.d.x"])), toml_values),
    max_size=3,
    unique_by=lambda line: line[0],
)


@settings(often)
@given(toml_lines, toml_lines, st.binary(max_size=3), st.booleans())
def test_any_toml_file_gives_configs_or_a_config_error(tmp_path_factory, lines, grid, noise, grids):
    file = tmp_path_factory.getbasetemp() / f"any-{os.getpid()}.toml"
    text = "\n".join(f"{name} = {value}" for name, value in lines)
    text += "\n[grid]\n" + "\n".join(f'"{name}" = [{value}]' for name, value in grid) if grids else ""
    file.write_bytes(text.encode() + (b"" if len(noise) < 3 else noise))
    for read in (lambda: read_config(file, {}, notify=str), lambda: read_grid(file, {}, None, notify=str)):
        with one_line():
            read()


@settings(often)
@given(
    st.lists(
        st.tuples(
            st.deferred(lambda: st.sampled_from(names())) | anything,
            odd_words | anything | st.deferred(kinds) | st.floats().map(repr) | st.integers().map(str),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_set_options_give_a_config_or_a_config_error(pairs):
    with one_line():
        read_config(None, parse_sets([f"{name}={value}" for name, value in pairs]), notify=str).check()


@settings(often)
@given(odd_words | anything | st.integers().map(str))
def test_any_text_gives_seeds_or_a_config_error(text):
    with one_line():
        seeds = parse_seeds(text)
        assert seeds and len(set(seeds)) == len(seeds) and all(type(seed) is int and seed >= 0 for seed in seeds)


@settings(often)
@given(plain_values)
def test_a_value_of_any_size_is_shown_on_one_line(value):
    text = shown(value)
    assert text.isprintable() and len(text) < 200_000


@pytest.mark.parametrize("value", ["a'b", -3, 0.1, None, True, [1, "a"], {"a": [1.5]}, (1, 2), [], {}])
def test_small_values_are_shown_as_python_writes_them(value):
    assert shown(value) == repr(value)


@pytest.mark.parametrize(
    ("seeds", "problem"),
    [
        ("[0.5]", "seeds: [0.5] is neither an integer nor a list of integers"),
        ('"abc"', "seeds: 'abc' is neither an integer nor a list of integers"),
        ("true", "seeds: True is neither an integer nor a list of integers"),
        ("[]", "seeds: [] selects no seeds"),
        ("[-1]", "seeds: -1 is negative"),
        ("100000000000", "seeds: 100,000,000,000 runs are more than the 1,000,000 that one command trains"),
    ],
)
def test_seeds_of_a_grid_are_integers(run, tmp_path, seeds, problem):
    (tmp_path / "grid.toml").write_text(f'seeds = {seeds}\nepochs = 2\n[grid]\n"prior.beta" = [0.0]\n')
    code, out, err = run("sweep", "grid.toml", "--runs", "runs", "-q")
    assert (code, out, err) == (2, "", problem + "\n")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--seeds 100000000000", "--seeds: 100,000,000,000 runs are more than the 1,000,000 that one command trains"),
        ("--set task.p=1e40", "task.p: '1e40' is too large; the largest integer is 2⁶³ − 1"),
        ("--set model.d=0.5", "model.d: '0.5' is not an integer"),
        ("--set ticket.run=a\0b", "ticket.run: no such setting. There are none."),
        ("--ticket a\0b", "ticket.run: 'a\\x00b' contains a control character or a lone surrogate"),
    ],
)
def test_one_line_before_anything_is_written(run, tmp_path, words, problem):
    assert run("train", *words.split(" "), "--runs", "runs") == (2, "", problem + "\n")
    assert not (tmp_path / "runs").exists()


def test_a_grid_of_too_many_points_is_refused_before_they_are_listed(tmp_path):
    lists = "\n".join(f'"{name}" = {list(range(1, 101))}' for name in ("optim.lr", "prior.beta", "epochs", "seed"))
    (tmp_path / "grid.toml").write_text(f"[grid]\n{lists}\n")
    with pytest.raises(ConfigError, match=r"^grid: 100,000,000 runs are more than the 1,000,000"):
        read_grid(tmp_path / "grid.toml", {}, None)
