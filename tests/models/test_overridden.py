"""Whatever a subclass, a part or a patch changes is used in training and in evaluation: the fused path steps aside."""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.models import overridden
from grokscope.models.parts import Attention, PositionEncoding
from grokscope.models.parts.attention.softmax import Softmax
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.parts.positions.learned import Learned
from grokscope.models.parts.readout.residual import Residual
from grokscope.models.transformer import Transformer

SIZES = {"d": 8, "d_mlp": 16}


def program_of(config, lanes=2):
    program = Program(config, lanes, torch.device("cpu"))
    for lane in range(lanes):
        own = replace(config, seed=lane)
        program.load(lane, own, lane_data(own))
    return program


def trained(config, epochs=5):
    program = program_of(config)
    for _ in range(epochs):
        program.train_epoch()
    return program


class Zeroed(Transformer):
    def forward(self, *args, **how):
        out = super().forward(*args, **how)
        return out.replace(logits=out.logits * 0)


def test_a_model_that_answers_nothing_learns_nothing(tiny):
    config = replace(tiny, model=Zeroed(**SIZES), prior=replace(tiny.prior, beta=0.0))
    program = program_of(config)
    start = program.flat.clone()
    for _ in range(60):
        program.train_epoch()
    table = program.evaluate()
    assert table["train_loss"] == pytest.approx([math.log(7)] * 2)
    assert all(accuracy < 0.5 for accuracy in table["train_accuracy"])
    shrunk = program.flat / start  # weight decay is all there is
    torch.testing.assert_close(shrunk, shrunk[:1, :1].expand_as(shrunk))
    original = trained(replace(config, model=Transformer(**SIZES)), epochs=60)
    assert all(loss < 0.7 * math.log(7) for loss in original.evaluate()["train_loss"])


def test_only_untouched_code_is_fused(tiny):
    @dataclass(frozen=True, kw_only=True)
    class Wide(Transformer):
        d: int = 8
        d_mlp: int = 16

        def check(self):
            super().check()

    assert overridden(Transformer()) == overridden(Wide()) == []
    assert program_of(tiny).objective.fused
    assert program_of(replace(tiny, model=Wide())).objective.fused
    assert overridden(Zeroed()) == ["forward"]


HELPERS = ["_hidden", "_answer", "_joined", "_query", "_rows", "_table", "_attend", "_attention_reads", "_query_only"]


@pytest.mark.parametrize("name", HELPERS)
def test_every_helper_may_be_overridden(tiny, name):
    calls = []

    def method(self, *args, **how):
        calls.append(name)
        return getattr(Transformer, name)(self, *args, **how)

    config = replace(tiny, model=type("Own", (Transformer,), {name: method})(**SIZES))
    assert overridden(config.model) == [name]
    program = program_of(config)
    assert not program.objective.fused
    program.train_epoch()
    trains = len(calls)
    program.evaluate()
    in_training = name not in ("_rows", "_attention_reads")  # these serve the bounds
    assert (trains > 0) == in_training and len(calls) > trains


class Sharp(Softmax):
    def normalise(self, logits, hidden):
        return super().normalise(3 * logits, hidden)


@pytest.mark.parametrize("scope", ["query", "causal"])
def test_a_changed_part_is_used(tiny, scope):
    sharp = trained(replace(tiny, model=Transformer(attention=Sharp(), scope=scope, **SIZES)))
    same = trained(replace(tiny, model=Transformer(attention=Softmax(temperature=1 / 3), scope=scope, **SIZES)))
    other = trained(replace(tiny, model=Transformer(scope=scope, **SIZES)))
    torch.testing.assert_close(sharp.flat, same.flat, rtol=1e-3, atol=1e-4)
    assert not torch.allclose(sharp.flat, other.flat, rtol=1e-2, atol=1e-3)
    assert not sharp.objective.fused


PATCHES = [
    (Transformer, "forward", "forward"),
    (Transformer, "_table", "_table"),
    (Transformer, "_query", "_query"),
    (Softmax, "normalise", "attention.normalise"),
    (Attention, "logits", "attention.logits"),
    (Attention, "weigh", "attention.weigh"),
    (PositionEncoding, "turn", "positions.turn"),
    (Learned, "stream", "positions.stream"),
    (ReLU, "activation", "mlp.activation"),
    (Residual, "joined", "readout.joined"),
    (Residual, "logits", "readout.logits"),
]


@pytest.mark.parametrize(("owner", "name", "found"), PATCHES, ids=lambda value: getattr(value, "__name__", value))
def test_a_patch_is_used(tiny, monkeypatch, owner, name, found):
    assert program_of(tiny).objective.fused
    original, calls = getattr(owner, name), []

    def patched(self, *args, **how):
        calls.append(name)
        return original(self, *args, **how)

    monkeypatch.setattr(owner, name, patched)
    assert overridden(tiny.model) == [found]
    program = trained(tiny, epochs=1)
    assert not program.objective.fused and calls
    calls.clear()
    program.evaluate()
    assert calls


def test_a_patched_part_changes_the_numbers(tiny, monkeypatch):
    plain = trained(tiny)
    monkeypatch.setattr(ReLU, "activation", lambda self, x: torch.tanh(x))
    patched = trained(tiny)
    assert not torch.allclose(plain.flat, patched.flat, rtol=1e-2, atol=1e-3)
    assert all(program.evaluate()["bound_ratio"][0] <= 1 for program in (plain, patched))
