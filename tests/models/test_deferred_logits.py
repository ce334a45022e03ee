"""Logits are there for whoever reads them, on the fused path too: a prior, a measure, and `Output` itself."""

from dataclasses import dataclass, replace

import pytest
import torch

from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.measures import measures
from grokscope.priors import Prior

CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Calm(Prior):
    """Penalises large logits."""

    def penalty(self, out, target, key):
        assert out.logits.shape == (len(target), 7)
        return out.logits.square().mean()


def programs(config, lanes):
    found = []
    for fuse in (True, False):
        program = Program(config, lanes, CPU, fuse)
        for lane in range(lanes):
            own = replace(config, seed=lane)
            program.load(lane, own, lane_data(own))
        assert program.objective.fused == fuse
        found.append(program)
    return found


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_prior_that_reads_logits(tiny, lanes):
    fused, plain = programs(replace(tiny, prior=Calm(beta=0.5)), lanes)
    before = plain.evaluate()["prior_loss"]
    assert fused.evaluate()["prior_loss"] == pytest.approx(before, rel=1e-5)
    for _ in range(10):
        for program in (fused, plain):
            program.train_epoch()
    torch.testing.assert_close(fused.flat, plain.flat, rtol=2e-3, atol=2e-4)
    without = programs(tiny, lanes)[0]
    for _ in range(10):
        without.train_epoch()
    assert (fused.flat - without.flat).norm() > 0.05 * fused.flat.norm()


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_measure_that_reads_logits(tiny, lanes, monkeypatch):
    shapes = set()

    def largest(view):
        found = {}
        for name, side in (("train", view.train), ("test", view.test)):
            shapes.add((name, tuple(side.logits.shape), tuple(side.out.logits.shape)))
            found[f"{name}_largest"] = side.logits.amax()
            found[f"{name}_correct"] = (side.out.logits.argmax(-1) == side.labels).float().mean()
        return found

    measures.entries()
    monkeypatch.setitem(measures._entries, "largest", largest)
    fused, plain = programs(tiny, lanes)
    seen, wanted = fused.evaluate(), plain.evaluate()
    shape = tiny.task.shape
    assert shapes == {(n, (size, 7), (size, 7)) for n, size in (("train", shape.train_size), ("test", shape.test_size))}
    for name in ("train_largest", "test_largest", "train_correct", "test_correct"):
        assert seen[name] == pytest.approx(wanted[name], rel=1e-5), name
    assert seen["train_correct"] == pytest.approx(seen["train_accuracy"])
    assert seen["test_correct"] == pytest.approx(seen["test_accuracy"])


@pytest.mark.parametrize("frozen", [False, True])
def test_the_output_of_the_fused_path_has_logits(tiny, frozen):
    """Of one run, of stacked runs, and under vmap."""
    fused, _ = programs(tiny, 2)
    model, inputs, labels = tiny.model, fused.objective.forward.inputs(fused.train), fused.train["labels"]
    how = {}
    if frozen:
        attention = torch.rand(inputs.row.shape)
        how = {"frozen": attention / attention.sum(-1, keepdim=True)}

    def wanted(weights, inputs, how):
        return model.forward(weights, inputs, **how).logits

    weights = {name: w.detach() for name, w in fused.weights.items()}
    expected = torch.func.vmap(wanted)(weights, inputs, how)
    stacked = model.fused_loss(weights, inputs, labels, **how)[1]
    torch.testing.assert_close(stacked.logits, expected)
    for rule in (lambda *a, **h: model.fused_loss(*a, **h)[1], model.fused_eval):
        for lane in range(2):
            own = {name: w[lane] for name, w in weights.items()}
            out = rule(
                own, type(inputs)(*(t[lane] for t in inputs)), labels[lane], **{n: t[lane] for n, t in how.items()}
            )
            torch.testing.assert_close(out.logits, expected[lane])
        mapped = torch.func.vmap(lambda w, i, y, h, rule=rule: rule(w, i, y, **h).logits)(weights, inputs, labels, how)
        torch.testing.assert_close(mapped, expected)
