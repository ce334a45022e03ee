"""One battery over every part that a transformer can be put together from."""

import dataclasses
import math
from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from grokscope.config import Log, RunConfig
from grokscope.describe import entry, field_docs
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.models.parts import Sizes, attentions, mlps, norms, position_encodings, readouts
from grokscope.models.transformer import Transformer
from grokscope.ops.lookup import plan
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular

PARTS = {"attention": attentions, "positions": position_encodings, "norm_kind": norms, "mlp": mlps, "readout": readouts}
EVERY = [(field, kind) for field, registry in PARTS.items() for kind in registry.entries()]
TASK = Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6)
SIZES = Sizes(vocabulary=6, positions=5, classes=3, d=8, d_mlp=12, d_out=8, heads=2, init_scale=1.0)

every_part = pytest.mark.parametrize(("field", "kind"), EVERY)
every_attention = pytest.mark.parametrize(
    "part", [cls() for cls in attentions.entries().values()], ids=lambda p: p.kind
)
every_encoding = pytest.mark.parametrize(
    "part", [cls() for cls in position_encodings.entries().values()], ids=lambda p: p.kind
)
every_norm = pytest.mark.parametrize("part", [cls() for cls in norms.entries().values()], ids=lambda p: p.kind)
every_mlp = pytest.mark.parametrize("part", [cls() for cls in mlps.entries().values()], ids=lambda p: p.kind)
every_readout = pytest.mark.parametrize("part", [cls() for cls in readouts.entries().values()], ids=lambda p: p.kind)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def weights_of(part, sizes=SIZES, seed=1):
    """A part's own weights, and those that belong to the model."""
    drawn = {name: draw(*p.shape, seed=seed) for name, p in part.parameters(sizes).items()}
    return {"W_E": draw(sizes.vocabulary, sizes.d), **drawn}


# ── inside a model ───────────────────────────────────────────────────────────────────────────────────────────


def config_with(field, kind, **settings):
    norm = "both" if field == "norm_kind" else "none"
    model = Transformer(d=8, d_mlp=16, norm=norm, **{field: kind})
    return RunConfig(task=TASK, model=model, optim=AdamW(lr=1e-2), prior=KL(beta=0.1), log=Log(every=5), **settings)


def trained(configs, epochs=8):
    program = Program(configs[0], len(configs), torch.device("cpu"))
    for lane, config in enumerate(configs):
        program.load(lane, config.check(), lane_data(config))
    for _ in range(epochs):
        program.train_epoch()
    return program


@every_part
def test_a_lane_equals_the_run_alone_and_leaves_its_neighbour_be(field, kind):
    one, two, three = (config_with(field, kind, seed=seed) for seed in range(3))
    together, otherwise = trained([one, two]), trained([one, three])
    assert torch.equal(together.flat[0], otherwise.flat[0])
    assert not torch.equal(together.flat[1], otherwise.flat[1])
    for lane, config in enumerate((one, two)):
        torch.testing.assert_close(together.flat[lane], trained([config]).flat[0], rtol=2e-3, atol=2e-4)
    for name, values in together.evaluate().items():
        assert all(map(math.isfinite, values)), name


@every_part
def test_a_run_that_diverges_ends_no_other(field, kind):
    """Every weight is NaN, as on a GPU in the rehearsal of a step, too: an index computed from NaN would be an error."""
    one, two = (config_with(field, kind, seed=seed) for seed in range(2))
    pair, alone = trained([one, two], epochs=0), trained([one], epochs=0)
    pair.flat[1] = math.nan
    for program in (pair, alone):
        for _ in range(3):
            program.train_epoch()
    torch.testing.assert_close(pair.flat[0], alone.flat[0], rtol=2e-3, atol=2e-4)
    seen = pair.evaluate()["train_loss"]
    assert math.isfinite(seen[0]) and math.isnan(seen[1])


@every_part
@pytest.mark.parametrize("scope", ["query", "causal"])
def test_every_weight_gets_a_gradient_and_the_loss_falls(field, kind, scope):
    config = config_with(field, kind)
    no_decay = replace(config.optim, weight_decay=0.0)
    config = replace(config, model=replace(config.model, scope=scope), optim=no_decay)
    program = trained([config], epochs=0)
    start, before = program.flat.clone(), program.evaluate()["train_loss"][0]
    program.train_epoch()
    for name, moved in program.layout.cut((program.flat != start)[0]).items():
        assert moved.float().mean() > 0.25, name
    for _ in range(40):
        program.train_epoch()
    assert program.evaluate()["train_loss"][0] < 0.9 * before


@every_part
def test_a_run_continues_from_a_saved_step_with_the_same_bits(field, kind):
    config = config_with(field, kind)
    straight, first = trained([config], epochs=6), trained([config], epochs=3)
    second = Program(config, 1, torch.device("cpu"))
    second.load(0, config, lane_data(config), saved=first.unload(0))
    for _ in range(3):
        second.train_epoch()
    assert torch.equal(second.flat, straight.flat)


@every_part
def test_it_is_described(field, kind):
    cls = PARTS[field].get(kind)
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(")
    assert {f.name for f in dataclasses.fields(cls)} <= set(field_docs(cls))
    assert entry(kind, cls)["about"]
    assert cls.from_dict({"kind": kind}) == cls() == cls.from_dict(cls().to_dict())
    listed = {row["name"]: row for row in entry("transformer", Transformer)["settings"]}
    assert kind in listed[field]["meaning"]


@every_part
def test_its_settings_are_the_same_for_all_lanes(field, kind):
    """A model is built from the settings of one run of a program: numbers of each lane would be ignored."""
    assert PARTS[field].get(kind).LANES == ()


# ── attention ────────────────────────────────────────────────────────────────────────────────────────────────

LOGITS = {
    "usual": draw(7, 2, 3, 5),
    "large": 60 * draw(7, 2, 3, 5, seed=1),
    "equal": torch.zeros(7, 2, 3, 5, dtype=torch.double),
    "negative": -draw(7, 2, 3, 5, seed=2).abs() - 5,
}
FUTURE = torch.ones(3, 5, dtype=torch.bool).triu(3)  # the last three of five positions ask


@every_attention
@pytest.mark.parametrize("logits", LOGITS)
@pytest.mark.parametrize("hidden", [None, FUTURE], ids=["all visible", "causal"])
def test_attention_is_a_distribution_over_visible_positions(part, logits, hidden):
    log_attention, attention = part.normalise(LOGITS[logits], hidden)
    assert attention.shape == log_attention.shape == LOGITS[logits].shape
    assert log_attention.isfinite().all() and (attention >= 0).all()
    torch.testing.assert_close(attention.sum(-1), torch.ones(7, 2, 3, dtype=torch.double))
    large = attention > 1e-6
    torch.testing.assert_close(log_attention[large], attention[large].log())
    if hidden is not None:
        assert (attention.masked_select(hidden) < 1e-6).all()
        alone = part.normalise(LOGITS[logits][:, :, :1, :3], None)[1]  # the first to ask sees three
        torch.testing.assert_close(attention[:, :, :1, :3], alone)


@every_attention
def test_attention_treats_positions_alike(part):
    order = torch.tensor([3, 0, 4, 1, 2])
    found, moved = (part.normalise(logits, None)[1] for logits in (LOGITS["usual"], LOGITS["usual"][..., order]))
    torch.testing.assert_close(found[..., order], moved)


@every_attention
def test_attention_of_one_lane_does_not_see_another(part):
    logits = LOGITS["usual"]
    changed = torch.cat([logits[:1], 3 * logits[1:] + 1])
    both, other = (vmap(lambda own: part.normalise(own, None)[1])(x) for x in (logits, changed))
    assert torch.equal(both[0], other[0]) and not torch.allclose(both[1:], other[1:])
    stacked = part.normalise(logits, None)[1]
    for lane in range(7):
        alone = part.normalise(logits[lane], None)[1]
        torch.testing.assert_close(alone, both[lane])
        torch.testing.assert_close(alone, stacked[lane])


@every_attention
def test_gradients_reach_the_logits(part):
    logits = LOGITS["usual"].clone().requires_grad_()
    log_attention, attention = part.normalise(logits, FUTURE)
    for of in ((attention * draw(5)).sum(), log_attention[..., :3].sum()):
        (gradient,) = torch.autograd.grad(of, logits, retain_graph=True)
        assert gradient.isfinite().all()
        assert (gradient.flatten(0, 1).abs().sum(0)[~FUTURE] > 0).all()


@every_attention
def test_sensitivity_is_what_autograd_finds(part):
    """∂h/∂ℓ_j = s_j (v_j − h)"""
    logits, values = LOGITS["usual"][:, :, 0], draw(7, 2, 5, 4, seed=3)

    def pooled(logits):
        return (part.normalise(logits, None)[1].unsqueeze(-1) * values).sum(-2)

    jacobian = torch.autograd.functional.jacobian(pooled, logits)  # example head width example head position
    own = torch.einsum("nhwnhj->nhjw", jacobian)
    reach = part.sensitivity(part.normalise(logits, None)[1], logits)
    if reach is not None:
        torch.testing.assert_close(
            reach.unsqueeze(-1) * (values - pooled(logits).unsqueeze(-2)), own, atol=1e-6, rtol=1e-5
        )


@every_attention
def test_frozen_weights_replace_attention(part):
    frozen = torch.tensor([[0.0, 1, 0, 0, 0]]).double().expand(7, 5)
    log_attention, attention = part.weigh(LOGITS["usual"][:, :, 0], frozen=frozen)
    assert torch.equal(attention, frozen[:, None].expand(7, 2, 5)) and log_attention.isfinite().all()


# ── positions ────────────────────────────────────────────────────────────────────────────────────────────────


def model_with(part, heads=2):
    model = Transformer(d=8, d_mlp=16, heads=heads, positions=part)
    shape = TASK.shape._replace(test_length=9)
    return model, {name: w.double() for name, w in model.init(shape, stream(0, "weights")).items()}, shape


@every_encoding
@pytest.mark.parametrize("scope", ["query", "causal"])
def test_positions_count_back_from_the_query(part, scope):
    """A longer sequence has new positions on its left, and the logits of the others stay as they were."""
    model, weights, shape = model_with(part)
    tokens = torch.randint(0, shape.vocabulary, (6, 8), generator=torch.Generator().manual_seed(0))
    tokens[:, -1] = shape.vocabulary - 1
    model = replace(model, scope=scope)
    long, short = (
        model.forward(weights, plan(part_of, shape.vocabulary, 9)).attention_logits
        for part_of in (tokens, tokens[:, 3:])
    )
    torch.testing.assert_close(long[:, :, 3:], short)


@every_encoding
def test_positions_shape_the_stream_the_keys_and_the_logits(part):
    weights = weights_of(part)
    back = torch.arange(4, -1, -1)
    assert part.stream(weights, 5).shape == (5, 8)
    keys = draw(3, 2, 5, 4)
    turned = part.turn(keys, back)
    assert turned.shape == keys.shape and turned.isfinite().all()
    torch.testing.assert_close(part.turn(keys[..., 2:4, :], back[2:4]), turned[..., 2:4, :])
    bias = part.bias(2, back[-1:], back)
    assert bias is None or bias.shape == (2, 1, 5)


@every_encoding
def test_an_encoding_without_weights_knows_distances_alone(part):
    if part.parameters(SIZES):
        pytest.skip("it has a vector for every position")
    model, weights, _ = model_with(part)
    q, k, back = draw(3, 2, 5, 4), draw(3, 2, 5, 4, seed=1), torch.arange(4, -1, -1)
    found, later = (model._compare(q, k, weights, back + shift, back + shift) for shift in (0, 11))
    torch.testing.assert_close(found, later)


@every_encoding
def test_queries_and_keys_of_one_lane_do_not_see_another(part):
    keys, back = draw(2, 3, 5, 4), torch.arange(4, -1, -1)
    changed = torch.stack([keys[0], -keys[1] + 1])
    both, other = (vmap(lambda own: part.turn(own, back))(x) for x in (keys, changed))
    assert torch.equal(both[0], other[0]) and not torch.equal(both[1], other[1])
    torch.testing.assert_close(both, part.turn(keys, back))


# ── norms, MLPs, readouts ───────────────────────────────────────────────────────────────────────────────────


def steepest(function, points):
    """The largest spectral norm of the Jacobian at some points."""
    jacobians = (torch.autograd.functional.jacobian(function, point) for point in points)
    return max(torch.linalg.matrix_norm(jacobian, ord=2).item() for jacobian in jacobians)


@every_norm
def test_a_norm_is_finite_scale_free_and_no_steeper_than_it_says(part):
    x = draw(20, 8)
    assert part(torch.zeros(8)).isfinite().all()
    torch.testing.assert_close(part(100 * x), part(1000 * x), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(part(x).square().mean(-1), torch.ones(20, dtype=torch.double), rtol=1e-3, atol=1e-3)
    for point in x:
        slope = part.slope(point)
        assert steepest(part, [point]) <= slope * (1 + 1e-9) <= part.steepest() * (1 + 1e-9)
    torch.testing.assert_close(vmap(part)(x), part(x))


@every_mlp
def test_an_mlp_is_no_steeper_than_its_factors(part):
    weights = weights_of(part)
    x = draw(20, 8)
    hidden = part.hidden(x, weights)
    assert hidden.shape == (20, 12) and part.output(hidden, weights).shape == (20, 8)
    first, second = (torch.linalg.matrix_norm(factor, ord=2) for factor in part.factors(weights))
    assert steepest(lambda point: part.output(part.hidden(point, weights), weights), x) <= first * second * (1 + 1e-9)


@every_readout
def test_a_read_out_is_no_steeper_than_it_says_and_knows_what_neurons_write(part):
    sizes = SIZES._replace(d_out=8 if part.residual else 3)
    mlp = mlps.get("relu")()
    weights = weights_of(part, sizes) | weights_of(mlp, sizes)
    stream_, h = draw(8), draw(10, 8, seed=4)

    def logits(h):
        x = part.joined(stream_, h)
        return part.logits(x, mlp.output(mlp.hidden(x, weights), weights), weights)

    assert logits(h).shape == (10, 3)
    bound = part.lipschitz(*mlp.factors(weights), weights)
    assert steepest(logits, h) <= bound * (1 + 1e-9)
    writes = part.writes(weights)
    if writes is not None:
        x, extra = part.joined(stream_, h[0]), torch.eye(12, dtype=torch.double)
        without, added = (part.logits(x, mlp.output(hidden, weights), weights) for hidden in (0 * extra, extra))
        torch.testing.assert_close(added - without, writes)
