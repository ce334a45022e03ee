"""Settings of the component: invalid values are named, plain dicts reload to equal objects."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from grokscope.errors import ConfigError
from grokscope.optim import filters, losses, optimizers
from grokscope.settings import Settings

ENTRIES: dict[str, type[Settings]] = {**optimizers.entries(), **filters.entries()}

IMPOSSIBLE: list[tuple[str, str, Any]] = [
    *[(name, "lr", value) for name in sorted(optimizers.entries()) for value in (0.0, -1e-3)],
    *[(name, field, -0.1) for name in sorted(optimizers.entries()) for field in ("weight_decay", "warmup", "clip")],
    *[
        (name, field, value)
        for name in ("adam", "adamw", "lion", "muon")
        for field in ("beta1", "beta2")
        for value in (-0.1, 1.0)
    ],
    *[(name, "momentum", value) for name in ("egd", "sgd", "muon") for value in (-0.1, 1.0)],
    ("adamw", "eps", 0.0),
    ("muon", "adam_lr", 0.0),
    ("grokfast-ema", "alpha", 1.0),
    ("grokfast-ema", "alpha", -0.1),
    ("grokfast-ema", "lamb", -1.0),
    ("grokfast-ma", "lamb", -1.0),
    ("grokfast-ma", "window", 0),
]


@pytest.mark.parametrize(("name", "field", "value"), IMPOSSIBLE)
def test_an_impossible_value_names_its_field(name: str, field: str, value: Any) -> None:
    settings = ENTRIES[name].from_dict({field: value})
    with pytest.raises(ConfigError) as error:
        settings.check()
    assert error.value.field == field
    assert str(value) in error.value.problem


@pytest.mark.parametrize(("name", "field"), [("adamw", "schedule"), ("muon", "adjust_lr")])
def test_an_unknown_word_names_the_nearest(name: str, field: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: .*Did you mean (cosine|original)\?$"):
        ENTRIES[name].from_dict({field: {"schedule": "cosin", "adjust_lr": "orignal"}[field]})


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_plain_dict_reloads_equal(name: str) -> None:
    kind = ENTRIES[name]
    numbers = dict.fromkeys(kind.LANES, 0.25)
    for settings in (kind(), kind(**numbers)):
        settings.check()
        plain = json.loads(json.dumps(settings.to_dict()))
        assert plain["kind"] == name
        assert kind.from_dict(plain) == settings


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_lane_fields_are_numbers_of_the_class(name: str) -> None:
    types = {field.name: field.type for field in fields(ENTRIES[name])}
    assert [types.get(field) for field in ENTRIES[name].LANES] == ["float"] * len(ENTRIES[name].LANES)


def test_the_room_holds_what_it_promises() -> None:
    assert set(optimizers.entries()) == {"adam", "adamw", "egd", "lion", "muon", "sgd"}
    assert set(filters.entries()) == {"none", "grokfast-ema", "grokfast-ma", "orthograd"}
    assert set(losses.entries()) == {"cross_entropy", "mse", "stablemax"}


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean adamw"):
        optimizers.get("adam-w")
    with pytest.raises(ConfigError, match="Did you mean grokfast-ema"):
        filters.get("grokfast_ema")
    with pytest.raises(ConfigError, match="Did you mean cross_entropy"):
        losses.get("cross-entropy")
