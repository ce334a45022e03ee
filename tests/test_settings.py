"""Settings that hold settings: components chosen by name inside a component, at any depth."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

from grokscope.config import merge, nested
from grokscope.describe import entry, meanings
from grokscope.errors import ConfigError
from grokscope.registry import Registry
from grokscope.settings import Settings, component, flatten, group, require, setting

attentions: Registry[type[Attention]] = Registry("attention")
models: Registry[type[Settings]] = Registry("model")


@dataclass(frozen=True, kw_only=True)
class Attention(Settings):
    """How positions are weighted."""

    bias: bool = False
    """Whether logits have a bias."""


@attentions.register("softmax")
@dataclass(frozen=True, kw_only=True)
class Softmax(Attention):
    """exp, normalised."""

    temperature: float = 1.0
    """Divides the logits."""
    init: float = 0.5
    """Scale of the initial weights."""

    LANES: ClassVar[tuple[str, ...]] = ("temperature",)
    HOST: ClassVar[tuple[str, ...]] = ("init",)

    def check(self) -> None:
        require(self.temperature > 0, "temperature", f"{self.temperature} is not above 0")


@attentions.register("linear")
@dataclass(frozen=True, kw_only=True)
class Linear(Attention):
    """ReLU, normalised."""

    floor: float = 0.0
    """Smallest logit."""


@dataclass(frozen=True, kw_only=True)
class Readout(Settings):
    """A fixed group."""

    scale: float = 1.0
    """Factor on the logits."""


@models.register("net")
@dataclass(frozen=True, kw_only=True)
class Net(Settings):
    """A model with parts."""

    d: int = 8
    """Width."""
    attention: Attention = component(attentions, Softmax)
    """What weighs the positions."""
    readout: Readout = group(Readout)
    norm: Literal["none", "layer"] = "none"
    """Normalisation."""


@dataclass(frozen=True, kw_only=True)
class Run(Settings):
    """A run."""

    model: Net = component(models, Net)
    """The model."""
    seed: int = 0
    """Of everything."""


def from_words(*words: str) -> Run:
    return Run.from_dict(nested(dict(word.split("=", 1) for word in words)))


def test_a_component_inside_a_component_survives_json() -> None:
    run = Run(model=Net(attention=Softmax(temperature=2.0), readout=Readout(scale=3.0)))
    plain = json.loads(json.dumps(run.to_dict()))
    assert plain["model"]["attention"] == {"kind": "softmax", "bias": False, "temperature": 2.0, "init": 0.5}
    assert plain["model"]["readout"] == {"scale": 3.0}
    assert Run.from_dict(plain) == run
    assert flatten(plain)["model.attention.temperature"] == 2.0


def test_shown_in_a_notebook_is_what_differs_from_the_defaults() -> None:
    run = Run(model=Net(attention=Softmax(temperature=2.0), readout=Readout(scale=3.0)))
    assert repr(run) == "Run(model=Net(attention=Softmax(temperature=2.0), readout=Readout(scale=3.0)))"
    assert repr(Run(model=Net(attention=Linear()), seed=7)) == "Run(model=Net(attention=Linear()), seed=7)"
    assert repr(Run()) == "Run()"


def test_a_plain_name_chooses_the_kind() -> None:
    """As on the command line, and in configs stored when the field was a mere word."""
    assert Run.from_dict({"model": {"attention": "linear"}}) == Run(model=Net(attention=Linear()))
    assert from_words("model.attention=linear").model.attention == Linear()
    assert from_words("model.attention.temperature=2").model.attention == Softmax(temperature=2.0)


@pytest.mark.parametrize(
    "words",
    [
        ("model.attention=linear", "model.attention.floor=1"),
        ("model.attention.floor=1", "model.attention=linear"),
        ("model.attention.kind=linear", "model.attention.floor=1"),
    ],
)
def test_kind_and_settings_are_given_in_any_order(words: tuple[str, ...]) -> None:
    assert from_words(*words).model.attention == Linear(floor=1.0)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["model.attention=sofmax"],
            "model.attention: no attention is called 'sofmax'. Did you mean softmax?",
        ),
        (
            ["model.attention.temprature=2"],
            "model.attention.temprature: no such setting. Did you mean model.attention.temperature?",
        ),
        (["model.attention.temperature=hot"], "model.attention.temperature: 'hot' is not a number"),
        (["model.attention.temperature=0"], "model.attention.temperature: 0.0 is not above 0"),
        (["model.readout=big"], "model.readout: 'big' is not a table of settings"),
        (["model.readout.kind=big"], "model.readout.kind: no such setting. "),
    ],
)
def test_errors_name_the_setting_with_its_whole_path(words: list[str], line: str) -> None:
    with pytest.raises(ConfigError) as error:
        run = from_words(*words)
        run.check_components()
    assert str(error.value).startswith(line)


def test_a_class_refuses_the_kind_of_another() -> None:
    with pytest.raises(ConfigError, match=r"^attention\.kind: 'linear' is not softmax$"):
        Softmax.from_dict({"kind": "linear"}, path="attention")


def test_lanes_and_structure_reach_into_components() -> None:
    cold, hot = (Net(attention=Softmax(temperature=t, init=t)) for t in (1.0, 2.0))
    assert hot.lane_values() == {"attention.temperature": 2.0}
    assert hot.structure() == cold.structure()
    assert hot.structure()["attention"] == {"kind": "softmax", "bias": False}
    assert hot.structure() != Net(attention=Linear()).structure()
    assert cold.with_values({"attention.temperature": 2.0, "d": 4}) == dataclasses.replace(
        cold, d=4, attention=Softmax(temperature=2.0, init=1.0)
    )


def test_settings_are_laid_over_a_component_inside_a_component() -> None:
    base = {"model": {"kind": "net", "d": 4, "attention": "linear"}}
    assert merge(base, {"model": {"attention": {"floor": 1.0}}}, Run) == {
        "model": {"kind": "net", "d": 4, "attention": {"kind": "linear", "floor": 1.0}}
    }
    assert merge(base, {"model": {"readout": {"scale": 2.0}}, "seed": 1}, Run) == {
        "model": {"kind": "net", "d": 4, "attention": "linear", "readout": {"scale": 2.0}},
        "seed": 1,
    }
    changed = merge(base, {"model": {"attention": "softmax"}}, Run)
    assert Run.from_dict(changed) == Run(model=Net(d=4))


def test_every_setting_of_every_kind_is_described() -> None:
    rows = {row["name"]: (row["default"], row["meaning"]) for row in entry("net", Net)["settings"]}
    assert rows == {
        "d": (8, "Width."),
        "attention": ("softmax", "What weighs the positions. One of softmax, linear."),
        "attention.bias": (False, "Whether logits have a bias."),
        "attention.temperature": (1.0, "(softmax) Divides the logits."),
        "attention.init": (0.5, "(softmax) Scale of the initial weights."),
        "attention.floor": (0.0, "(linear) Smallest logit."),
        "readout.scale": (1.0, "Factor on the logits."),
        "norm": ("none", "Normalisation. One of none, layer."),
    }
    assert meanings(Run())["model.attention.temperature"] == "Divides the logits."


@dataclass(frozen=True, kw_only=True)
class Later(Net):
    """The model, some versions later."""

    dropout: float = setting(0.0, since=2)
    """Share of the activations that are dropped."""
    gate: Attention = component(attentions, Linear, since=3)
    """Another part."""
    watch: Readout = group(Readout, identity=False)


def test_fields_added_later_stay_out_of_the_identity_while_at_their_default() -> None:
    before = Net().identity()
    assert Later().identity() == before == {**before, "readout": {"scale": 1.0}, "d": 8, "norm": "none"}
    assert Later(dropout=0.1).identity() == {**before, "dropout": 0.1}
    assert Later(gate=Linear(floor=1.0)).identity() == {
        **before,
        "gate": {"kind": "linear", "bias": False, "floor": 1.0},
    }
    assert Later(gate=Softmax()).identity() != before
    assert Later(watch=Readout(scale=9.0)).identity() == before
    assert Later(dropout=0.0).to_dict()["dropout"] == 0.0


def test_a_component_with_nothing_but_its_kind_is_identified_by_that_word() -> None:
    """So a field that was a mere word may become a component without a change of ids."""

    @dataclass(frozen=True, kw_only=True)
    class Sharp(Attention):
        """All settings were added later."""

        kind: ClassVar[str] = "sharp"
        bias: bool = setting(False, since=2)

    assert Net(attention=Sharp()).identity()["attention"] == "sharp"
    assert Net(attention=Sharp(bias=True)).identity()["attention"] == {"kind": "sharp", "bias": True}


def test_settings_of_another_version_are_left_out_and_named() -> None:
    plain = {"model": {"kind": "net", "d": 4, "glow": 1, "attention": {"kind": "linear", "hum": 2}}, "mood": 3}
    known, unknown = Run.without_unknown(plain)
    assert Run.from_dict(known) == Run(model=Net(d=4, attention=Linear()))
    assert unknown == ["model.glow", "model.attention.hum", "mood"]
    assert Run.without_unknown({"model": {"attention": "linear"}}) == ({"model": {"attention": {"kind": "linear"}}}, [])
    with pytest.raises(ConfigError, match="no attention is called 'gone'"):
        Run.without_unknown({"model": {"attention": "gone"}})
