"""Several layers: what is computed once for all examples against every example by itself, and in blocks against the whole batch."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from torch.func import vmap

from grokscope.config import RunConfig
from grokscope.fleet.objective import Objective
from grokscope.models.layers import FIRST, ROWS
from grokscope.models.parts.attention.linear import Linear
from grokscope.models.parts.mlp.gelu import GELU
from grokscope.models.parts.norm.layer import LayerNorm
from grokscope.models.parts.positions.rotary import Rotary
from grokscope.models.transformer import Transformer
from grokscope.ops.lookup import plan
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular

TASK = Modular(p=11, distractors=1, alphabet=2, train_fraction=0.9)
VARIANTS = {
    "two layers": {},
    "three layers, two heads": {"layers": 3, "heads": 2},
    "full": {"scope": "full"},
    "linear attention": {"attention": Linear()},
    "rotary": {"positions": Rotary()},
    "norms with gain and bias": {"norm": "both", "norm_kind": LayerNorm(affine=True)},
    "norm before values": {"norm": "value"},
    "gelu": {"mlp": GELU()},
    "gates": {"attention": "stg"},
    "one layer": {"layers": 1},
}


def model_of(variant) -> Transformer:
    settings = {"d": 8, "d_mlp": 16, "layers": 2, "scope": "causal"} | VARIANTS[variant]
    if isinstance(settings.get("attention"), str):
        return RunConfig.from_dict({"task": TASK.to_dict(), "model": {"kind": "transformer", **settings}}).model
    return Transformer(**settings)


def drawn(model, task=TASK, seed=0):
    """Weights in float64, the lookup plan of all training examples, and their number."""
    shape = task.shape
    weights = {name: w.double().requires_grad_() for name, w in model.init(shape, stream(seed, "weights")).items()}
    tokens = task.split(seed).train.inputs
    return weights, plan(tokens, shape.vocabulary, shape.length), tokens


@pytest.mark.parametrize("every_position", [False, True], ids=["query", "every position"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_shared_equals_each_example_by_itself(variant, every_position):
    model = model_of(variant)
    weights, whole, tokens = drawn(model)
    if model.layers == 1 and not every_position:
        pytest.skip("one layer that is read at the query is computed another way")
    together = model.forward(weights, whole, every_position=every_position)
    alone = [
        model.forward(weights, plan(row[None], TASK.shape.vocabulary, TASK.shape.length), every_position=every_position)
        for row in tokens
    ]
    assert (
        model.shared(weights, plan(tokens[:1], TASK.shape.vocabulary, TASK.shape.length), 1)[ROWS].shape[1] == model.d
    )
    for name in together.tensors():
        each = torch.cat([getattr(out, name) for out in alone])
        torch.testing.assert_close(getattr(together, name), each, rtol=1e-6, atol=1e-8, msg=name)
    slope = torch.randn(together.logits.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = torch.autograd.grad((slope * together.logits).sum(), list(weights.values()), allow_unused=True)
    summed = sum((own * out.logits[0]).sum() for own, out in zip(slope, alone, strict=True))
    for name, a, b in zip(
        weights, found, torch.autograd.grad(summed, list(weights.values()), allow_unused=True), strict=True
    ):
        assert (a is None) == (b is None), name
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7, msg=name)


@pytest.mark.parametrize(
    "variant, firsts",
    [("two layers", 1), ("three layers, two heads", 2), ("full", 0), ("gates", 0), ("one layer", 0)],
)
def test_the_first_position_is_shared_where_it_depends_on_its_token_alone(variant, firsts):
    model = model_of(variant)
    weights, whole, tokens = drawn(model)
    shared = model.shared(weights, whole, len(tokens))
    assert shared[ROWS].shape == (TASK.shape.vocabulary * TASK.shape.length, 4 * model.d)
    assert [name for name in shared if name != ROWS] == [f"{FIRST}.{layer + 1}" for layer in range(firsts)]
    dropped = model.shared(weights, whole, len(tokens), drops=True)
    assert list(dropped) == [ROWS]  # which units are dropped differs from example to example


def test_an_attention_that_mixes_examples_shares_no_position():
    @dataclass(frozen=True, kw_only=True)
    class AcrossExamples(Linear):
        examplewise: ClassVar[bool] = False

    model = replace(model_of("two layers"), attention=AcrossExamples())
    weights, whole, tokens = drawn(model)
    assert list(model.shared(weights, whole, len(tokens))) == [ROWS]


def test_sequences_shorter_than_the_longest():
    model, shape = model_of("two layers"), TASK.shape
    longest = shape.length + 1  # sequences that are tested may have one place more
    weights = {name: w.double() for name, w in model.init(shape, stream(0, "weights")).items()}
    weights["W_pos"] = torch.randn(longest, model.d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    tokens = TASK.split(0).train.inputs
    together = model.forward(weights, plan(tokens, shape.vocabulary, longest)).logits
    each = [model.forward(weights, plan(row[None], shape.vocabulary, longest)).logits for row in tokens]
    torch.testing.assert_close(together, torch.cat(each), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("given", ["offset", "frozen"])
def test_attention_that_is_moved_or_given_at_the_query(given):
    model = model_of("three layers, two heads")
    weights, whole, tokens = drawn(model)
    shape = (len(tokens), model.heads, TASK.shape.length)
    number = torch.rand(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    how = {given: number if given == "offset" else number / number.sum(-1, keepdim=True)}
    short = model.forward(weights, whole, **how)
    detailed = model.forward(weights, whole, detail=True, **how)  # computes every position of every example
    for name in short.tensors():
        torch.testing.assert_close(getattr(short, name), getattr(detailed, name), rtol=1e-9, atol=1e-11, msg=name)


def test_stacked_runs_equal_each_run():
    model = model_of("two layers")
    runs = [drawn(model, seed=seed) for seed in (0, 1)]
    weights = {name: torch.stack([run[0][name].detach() for run in runs]) for name in runs[0][0]}
    plans = [torch.stack(each) for each in zip(*(run[1] for run in runs), strict=True)]

    def logits(weights, *whole):
        return model.forward(weights, type(runs[0][1])(*whole)).logits

    stacked = vmap(logits)(weights, *plans)
    for own, run in zip(stacked, runs, strict=True):
        torch.testing.assert_close(own, model.forward(run[0], run[1]).logits.detach(), rtol=1e-9, atol=1e-11)


def test_blocks_read_the_same_tables_as_the_whole_batch():
    model = model_of("three layers, two heads")
    config = RunConfig(task=TASK, model=model)
    objective = Objective(config, torch.device("cpu"))
    weights, _, tokens = drawn(model)
    labels = TASK.split(0).train.labels

    def batch(part):
        own = plan(tokens[part], TASK.shape.vocabulary, TASK.shape.length)
        return own._asdict() | {"labels": labels[part]}

    middle = len(tokens) // 3
    blocks = (batch(slice(middle)), batch(slice(middle, None)))
    nothing, step = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.int64)
    divided = objective.loss_in_blocks(blocks, weights, {}, nothing, step, step)
    whole = objective.loss(weights, {}, batch(slice(None)), nothing, torch.ones(()), step, step)
    # the loss is taken in float32
    torch.testing.assert_close(divided, whole, rtol=1e-5, atol=1e-6)
    for a, b in zip(
        torch.autograd.grad(divided, list(weights.values())),
        torch.autograd.grad(whole, list(weights.values())),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
