"""Attention with stochastic gates: formulas by hand, draws, the penalty in the objective, own rate and no decay, evaluation."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.fleet.start import initial_weights
from grokscope.interventions import Now
from grokscope.interventions.gradient import Gradient
from grokscope.models import Parameter
from grokscope.models.parts import Sizes
from grokscope.models.parts.attention.gates import CLOSED, START
from grokscope.models.parts.attention.hard_concrete import HardConcrete
from grokscope.models.parts.attention.stg import StochasticGates
from grokscope.models.transformer import Transformer
from grokscope.ops.lookup import plan
from grokscope.optim.adamw import AdamW
from grokscope.optim.egd import EGD
from grokscope.optim.muon import Muon
from grokscope.priors import Constraints
from grokscope.priors.kl import KL
from grokscope.randomness import Key
from grokscope.tasks.modular import Modular
from grokscope.tickets import Origin
from grokscope.tickets.edge_popup import EdgePopup

CPU = torch.device("cpu")
TASK = Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6)
KINDS = {"stg": StochasticGates, "hard-concrete": HardConcrete}
every_kind = pytest.mark.parametrize("kind", KINDS)
LAYERS = {
    "query": {},
    "causal": {"scope": "causal", "heads": 2},
    "two layers": {"scope": "causal", "heads": 2, "layers": 2},
}
every_layout = pytest.mark.parametrize("layout", LAYERS)
GATE = torch.tensor([-0.8, 0.0, 0.3, 1.7], dtype=torch.double)


def key(seed=0, step=0):
    return Key(torch.tensor(seed), torch.tensor(step))


def config_of(kind, layout="query", beta=0.0, **settings):
    model = Transformer(d=8, d_mlp=16, attention=kind, **LAYERS[layout])
    optim = settings.pop("optim", AdamW(lr=1e-2))
    return RunConfig(task=TASK, model=model, optim=optim, prior=KL(beta=beta), **settings)


def loaded(config, lanes=1):
    program = Program(config.check(), lanes, CPU)
    for lane in range(lanes):
        own = replace(config, seed=lane)
        program.load(lane, own, lane_data(own))
    return program


def trained(config, epochs):
    program = loaded(config)
    for _ in range(epochs):
        program.train_epoch()
    return program


def setup(model, gate=GATE):
    """Weights in double precision with these gates in every layer, and the plan of some sequences."""
    weights = {name: w.double() for name, w in model.init(TASK.shape, torch.Generator().manual_seed(0)).items()}
    weights |= {name: gate for name in weights if name.startswith("gate")}
    return weights, plan(TASK.split(0).train.inputs, TASK.shape.vocabulary, TASK.shape.length)


# ── formulas ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_penalty_of_stochastic_gates_by_hand():
    gate = GATE.clone().requires_grad_()
    penalty = StochasticGates(sigma=0.4, strength=0.2).penalty({"gate": gate})
    normal = [0.5 * (1 + math.erf(mu / 0.4 / math.sqrt(2))) for mu in GATE.tolist()]
    assert penalty.item() == pytest.approx(0.2 * sum(normal), rel=1e-9)
    (gradient,) = torch.autograd.grad(penalty, gate)
    density = [math.exp(-((mu / 0.4) ** 2) / 2) / math.sqrt(2 * math.pi) for mu in GATE.tolist()]
    assert gradient.tolist() == pytest.approx([0.2 * d / 0.4 for d in density], rel=1e-9)


def test_the_penalty_of_hard_concrete_gates_by_hand():
    """P(z > 0) = σ(log α − β log(−γ/ζ)) with β = 2/3, γ = −0.1, ζ = 1.1"""
    gate = GATE.clone().requires_grad_()
    penalty = HardConcrete(strength=0.2).penalty({"gate": gate})
    opened = [1 / (1 + math.exp(-(a - 2 / 3 * math.log(0.1 / 1.1)))) for a in GATE.tolist()]
    assert penalty.item() == pytest.approx(0.2 * sum(opened), rel=1e-9)
    (gradient,) = torch.autograd.grad(penalty, gate)
    assert gradient.tolist() == pytest.approx([0.2 * p * (1 - p) for p in opened], rel=1e-9)


def test_middle_values_by_hand():
    assert StochasticGates().middle(GATE).tolist() == pytest.approx([0, 0, 0.3, 1])
    expected = [min(1, max(0, 1.2 / (1 + math.exp(-a)) - 0.1)) for a in (*GATE.tolist(), -3, 3)]
    assert HardConcrete().middle(torch.tensor([*GATE.tolist(), -3, 3])).tolist() == pytest.approx(expected)
    assert expected[-2:] == [0, 1]


@every_kind
def test_as_many_draws_are_open_as_the_penalty_says(kind):
    part, examples = KINDS[kind](), 20_000
    drawn = part.draw(GATE, examples, key())
    assert drawn.shape == (examples, 4) and drawn.min() == 0 and drawn.max() == 1
    opened = (drawn > 0).double().mean(0)
    error = (opened * (1 - opened) / examples).sqrt() + 1e-4
    assert ((opened - part.open_probability(GATE)).abs() < 5 * error).all()
    assert not torch.equal(drawn[0], drawn[1]), "each example draws its own"
    assert torch.equal(drawn, part.draw(GATE, examples, key()))
    for other in (key(seed=1), key(step=1)):
        assert not torch.equal(drawn, part.draw(GATE, examples, other))


@every_kind
@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("layout", ["query", "causal"])
def test_a_gate_multiplies_attention_which_is_normalised_again(kind, temperature, layout):
    model = Transformer(d=8, d_mlp=16, attention=KINDS[kind](temperature=temperature), **LAYERS[layout])
    weights, p = setup(model)
    usual = replace(model, attention="softmax").forward(weights, p).attention_logits
    z = torch.cat([model.attention.middle(GATE), torch.ones(1)]).clamp_min(CLOSED)
    expected = z * (usual / temperature).exp()
    found = model.forward(weights, p)
    torch.testing.assert_close(found.attention, expected / expected.sum(-1, keepdim=True))
    at_every = replace(model, scope="causal").forward(weights, p, every_position=True)
    torch.testing.assert_close(at_every.attention, found.attention)


@every_kind
def test_every_query_sees_the_gates(kind):
    """With all gates closed but the first, every later position attends to itself or to the first one alone."""
    model = Transformer(d=8, d_mlp=16, attention=kind, scope="causal")
    weights, p = setup(model, torch.tensor([20.0, -20, -20, -20]).double())
    seen = []
    model_attention = type(model.attention)

    class Watched(model_attention):
        def normalise(self, logits, hidden):
            seen.append(super().normalise(logits, hidden)[1])
            return super().normalise(logits, hidden)

    replace(model, attention=Watched()).forward(weights, p, every_position=True)
    (attention,) = seen  # example head query position
    closed = attention[:, :, :, 1:-1].amax(dim=(0, 1))
    assert (closed < 1e-3).all()
    assert (attention[:, :, 1:-1, 0] > 0.99).all()


@every_kind
def test_gates_are_counted_back_from_the_query(kind):
    model = Transformer(d=8, d_mlp=16, attention=kind)
    gate = torch.tensor([9.0, -9, *GATE.tolist()]).double()
    sizes = Sizes(vocabulary=6, positions=7, classes=3, d=8, d_mlp=12, d_out=8, heads=1, init_scale=1.0)
    assert model.attention.parameters(sizes)["gate"].shape == (6,)
    short, long = (model.attention.log_gates({"gate": gate}, 3, positions) for positions in (5, 7))
    torch.testing.assert_close(short, model.attention.log_gates({"gate": GATE}, 3, 5))
    torch.testing.assert_close(long[:, 2:], short)
    assert short[0, -1] == 0, "the query is open"


# ── training ─────────────────────────────────────────────────────────────────────────────────────────────────


@every_kind
@every_layout
@pytest.mark.parametrize("beta", [0.0, 0.3])
def test_the_objective_is_the_task_loss_of_the_draws_and_the_penalty(kind, layout, beta):
    program = loaded(config_of(kind, layout, beta), lanes=2)
    objective = program.objective
    assert objective.fused is (layout != "two layers")
    assert not program.needs_no_vmap, "the penalty and the draws are those of one run"
    weights = {name: w[1].detach().clone().requires_grad_() for name, w in program.weights.items()}
    batch = {name: tensor[1] for name, tensor in program.train.items()}
    hyper = {name: number[1] for name, number in program.hyper.items()}
    step, seed, strength = program.step[1], program.seed[1], torch.tensor(beta)
    found = objective.loss(weights, hyper, batch, strength, torch.ones(()), step, seed)
    out = objective.forward(weights, batch, training=True, key=Key(seed, step))
    gates = [weight for name, weight in weights.items() if name.startswith("gate")]
    assert len(gates) == program.config.model.layers
    penalty = sum(program.config.model.attention.penalty({"gate": gate}) for gate in gates)
    prior = beta * program.config.prior.penalty(out, batch["target"], Key(seed, step))
    expected = F.cross_entropy(out.logits, batch["labels"]) + prior + penalty
    torch.testing.assert_close(found, expected)
    others = torch.autograd.grad(expected, list(weights.values()))
    for own, other in zip(torch.autograd.grad(found, list(weights.values())), others, strict=True):
        torch.testing.assert_close(own, other)


@every_kind
@every_layout
def test_gates_start_beside_the_weights_of_softmax_attention(kind, layout):
    config = config_of(kind, layout)
    weights = initial_weights(config)
    usual = initial_weights(replace(config, model=replace(config.model, attention="softmax")))
    assert {name for name in weights if name not in usual} == {
        "gate" if layer == 0 else f"gate.{layer}" for layer in range(config.model.layers)
    }
    assert all(torch.equal(weights[name], usual[name]) for name in usual)
    assert (weights["gate"] == START).all()


@every_kind
def test_gates_have_their_own_rate_from_the_first_step(kind):
    """The first step of AdamW is η sign(g): without warm-up and whatever the gradient is clipped to."""
    program = trained(config_of(kind, optim=AdamW(lr=1e-3, warmup=100.0, clip=0.1)), 1)
    moved = (program.weights["gate"][0] - START).abs()
    torch.testing.assert_close(moved, torch.full_like(moved, KINDS[kind]().rate), rtol=0.05, atol=0.0)


@every_kind
def test_gates_do_not_decay(kind):
    """Frozen attention and no penalty leave gates, queries and keys without a gradient: decay is all that could move them."""
    config = config_of(kind, optim=AdamW(lr=1e-2, weight_decay=1.0))
    config = replace(config, constraint=Constraints(attention="oracle"))
    config = replace(config, model=replace(config.model, attention=KINDS[kind](strength=0.0)))
    start, program = loaded(config), trained(config, 3)
    assert torch.equal(program.weights["gate"], start.weights["gate"])
    assert (program.weights["W_Q"].abs() < start.weights["W_Q"].abs()).all()


@every_kind
@pytest.mark.parametrize("weights", ["frozen", "trained"])
def test_scores_of_edge_popup_are_trained_beside_gates(kind, weights):
    config = config_of(kind)
    origin = initial_weights(config)
    config = replace(config, ticket=EdgePopup(run="origin", weights=weights)).check()
    program = Program(config, 1, CPU)
    program.load(0, config, lane_data(config), origin=Origin(origin, origin, {}))
    assert "score/gate" not in program.weights
    program.train_epoch()
    moved = (program.weights["gate"][0] - START).abs()
    expected = KINDS[kind]().rate if weights == "trained" else 0.0
    torch.testing.assert_close(moved, torch.full_like(moved, expected), rtol=0.05, atol=0.0)


@every_kind
@pytest.mark.parametrize("optim", [Muon(), EGD()], ids=lambda optim: optim.kind)
def test_an_optimizer_of_whole_matrices_is_refused(kind, optim):
    problem = (
        rf"^optim.kind: {optim.kind} updates whole matrices, and parameter gate of the model has a learning rate or"
    )
    with pytest.raises(ConfigError, match=problem):
        config_of(kind, optim=optim).check()


def test_an_amplified_update_counts_no_decay_of_gates():
    before, after = {"gate": torch.tensor([1.0, 2.0])}, {"gate": torch.tensor([1.1, 1.8])}
    parameters = {"gate": Parameter((2,), "bias", 0.0, "attention", lr=0.1, decays=False)}
    now = Now(torch.tensor(0), 1, key())
    doubled = Gradient(strength=2.0).update(before, after, now, parameters, torch.tensor(0.5))
    torch.testing.assert_close(doubled["gate"], torch.tensor([1.2, 1.6]))


# ── evaluation ───────────────────────────────────────────────────────────────────────────────────────────────


@every_kind
@every_layout
def test_an_evaluation_is_deterministic(kind, layout):
    program = trained(config_of(kind, layout), 4)
    table = program.evaluate()
    assert table == program.evaluate()
    model, shape = program.config.model, TASK.shape
    weights = {name: w[0].detach() for name, w in program.weights.items()}
    train = TASK.split(0).train
    p = plan(train.inputs, shape.vocabulary, shape.length)
    logits = model.forward(weights, p, key=key()).logits
    assert torch.equal(logits, model.forward(weights, p).logits)
    assert table["train_loss"][0] == pytest.approx(F.cross_entropy(logits, train.labels).item(), rel=1e-5)
    assert not torch.allclose(model.forward(weights, p, training=True, key=key()).logits, logits, rtol=1e-2)
    with pytest.raises(ValueError, match="gates in training need a key"):
        model.forward(weights, p, training=True)
