"""Parts against their definitions, alone and inside the transformer."""

import math
from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data, with_plan
from grokscope.fleet.objective import Objective
from grokscope.fleet.program import Program
from grokscope.models import Parameter
from grokscope.models.parts import Attention, PositionEncoding, Readout
from grokscope.models.parts.attention.linear import Linear
from grokscope.models.parts.attention.softmax import Softmax
from grokscope.models.parts.mlp.gelu import GELU
from grokscope.models.parts.mlp.relu import ReLU
from grokscope.models.parts.positions.rotary import Rotary
from grokscope.models.transformer import Transformer
from grokscope.ops.lookup import plan
from grokscope.papers.structural_inference.equations.explaining_away import pooled_jacobian
from grokscope.randomness import stream
from grokscope.tasks.modular import Modular
from grokscope.theory import residual_lipschitz

TASK = Modular(p=7, distractors=2, alphabet=3)


def setup(model, task=TASK, places=None):
    """Weights in double precision, sequences, labels and their plan."""
    shape = task.shape
    drawn = model.init(shape, stream(0, "weights"))
    weights = {name: w.double().requires_grad_() for name, w in drawn.items()}
    examples = task.split(0).train
    places = places or shape.length
    return weights, plan(examples.inputs, shape.vocabulary, places), examples


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_part_is_chosen_by_name_in_a_file_and_in_python():
    table = {"attention": "linear", "positions": {"kind": "rotary", "base": 100.0}, "norm_kind": "rms", "mlp": "gelu"}
    read = Transformer.from_dict(table)
    assert (read.attention, read.positions) == (Linear(), Rotary(base=100.0))
    assert Transformer(attention="linear", positions=Rotary(base=100.0), norm_kind="rms", mlp="gelu") == read
    assert replace(Transformer(), readout="minimal") == Transformer.from_dict({"readout": "minimal"})
    assert Transformer.from_dict(read.to_dict()) == read
    with pytest.raises(ConfigError, match=r"attention: no attention is called 'linaer'\. Did you mean linear\?"):
        Transformer(attention="linaer")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ({"attention": {"temperature": 0.0}}, "model.attention.temperature: 0.0 is not above 0"),
        ({"positions": {"kind": "rotary", "base": 1.0}}, "model.positions.base: 1.0 is not above 1"),
        ({"positions": "rotary", "d": 6, "heads": 2}, "model.positions: .* even head width, got 3"),
        ({"layers": 2, "scope": "causal", "readout": "minimal"}, 'model.layers: .* model.readout = "residual"'),
        ({"attention": {"kind": "stg", "sigma": 0.0}}, "model.attention.sigma: 0.0 is not above 0"),
        ({"attention": {"kind": "stg", "strength": -1.0}}, "model.attention.strength: -1.0 is below 0"),
        ({"attention": {"kind": "hard-concrete", "rate": 0.0}}, "model.attention.rate: 0.0 is not above 0"),
        ({"dropout": 1.0}, r"model.dropout: 1.0 is outside \[0, 1\)"),
    ],
)
def test_impossible_settings(model, problem):
    with pytest.raises(ConfigError, match=problem):
        RunConfig(task=TASK, model=Transformer.from_dict(model)).check()


# ── attention ────────────────────────────────────────────────────────────────────────────────────────────────


def test_temperature_divides_the_logits():
    logits = torch.tensor([[[0.0, 2.0, 4.0]]])
    log_attention, attention = Softmax(temperature=2.0).normalise(logits, None)
    torch.testing.assert_close(attention, torch.softmax(logits / 2, -1))
    torch.testing.assert_close(log_attention, torch.log_softmax(logits / 2, -1))


def test_sensitivity_of_softmax_is_the_jacobian_of_the_paper():
    attention, values = torch.softmax(torch.randn(3, 2, 5), -1), torch.randn(3, 2, 5, 4)
    spread = values - torch.einsum("nhj,nhjw->nhw", attention, values).unsqueeze(-2)
    reach = Softmax().sensitivity(attention, attention.log())
    torch.testing.assert_close(reach.unsqueeze(-1) * spread, pooled_jacobian(attention, values))


@dataclass(frozen=True, kw_only=True)
class Distance(Attention):
    """ℓ_j = −e^τ ‖q − k_j‖², with a τ of its own for each head: no dot product, so keys have to be formed."""

    def parameters(self, sizes):
        return {"tau": Parameter((sizes.heads,), "bias", 1.0, "attention")}

    def logits(self, q, k, weights):
        return -weights["tau"].exp()[:, None, None] * (q.unsqueeze(-2) - k.unsqueeze(-3)).square().sum(-1)

    def normalise(self, logits, hidden):
        return Softmax().normalise(logits, hidden)


@pytest.mark.parametrize("heads", [1, 2])
def test_an_attention_with_logits_and_parameters_of_its_own(heads):
    model = Transformer(d=8, d_mlp=16, heads=heads, attention=Distance())
    weights, p, examples = setup(model)
    x = weights["W_E"][examples.inputs] + weights["W_pos"]
    q, k, v = ((x @ weights[n]).view(*x.shape[:2], heads, -1).transpose(1, 2) for n in ("W_Q", "W_K", "W_V"))
    scores = torch.stack(
        [-weights["tau"][h].exp() * torch.cdist(q[:, h, -1:], k[:, h])[:, 0] ** 2 for h in range(heads)], 1
    )
    attention = torch.softmax(scores, -1)
    for scope in ("query", "causal"):
        out = replace(model, scope=scope).forward(weights, p, detail=True)
        torch.testing.assert_close(out.attention_logits, scores)
        torch.testing.assert_close(out.attention, attention)
        torch.testing.assert_close(out.pooled, torch.einsum("nhj,nhjw->nhw", attention, v))
    two = replace(model, layers=2, scope="causal")
    assert {"tau", "tau.1"} <= two.parameters(TASK.shape).keys()
    assert two.forward(setup(two)[0], p).logits.isfinite().all()


# ── positions ────────────────────────────────────────────────────────────────────────────────────────────────


def test_rotary_turns_complex_numbers():
    x, back = torch.randn(2, 3, 5, 6, dtype=torch.double), torch.arange(4, -1, -1)
    z = torch.complex(x[..., :3], x[..., 3:])
    angle = -back[:, None] * 50.0 ** -(torch.arange(3, dtype=torch.double) / 3)
    turned = z * torch.polar(torch.ones_like(angle), angle)
    torch.testing.assert_close(Rotary(base=50.0).turn(x, back), torch.cat([turned.real, turned.imag], -1))


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("norm", ["none", "attention"])
def test_rotary_logits_from_the_definition(heads, norm):
    """ℓ_ij = q_iᵀ R(i − j) k_j / √width, between every two positions."""
    model = Transformer(d=8, d_mlp=16, heads=heads, positions="rotary", norm=norm)
    weights, p, examples = setup(model)
    assert "W_pos" not in weights
    x = weights["W_E"][examples.inputs]
    if norm != "none":
        x = F.layer_norm(x, (8,), eps=1e-5)
    width = 8 // heads
    q, k = ((x @ weights[n]).view(*x.shape[:2], heads, width) for n in ("W_Q", "W_K"))
    rates = 10_000.0 ** -(torch.arange(width // 2, dtype=torch.double) / (width // 2))
    expected = torch.empty(len(x), heads, 5, dtype=torch.double)
    for j in range(5):
        turn = torch.block_diag(*(_rotation((4 - j) * rate.item()) for rate in rates))
        paired = [
            torch.stack([t[..., : width // 2], t[..., width // 2 :]], -1).flatten(-2) for t in (q[:, -1], k[:, j])
        ]
        expected[:, :, j] = torch.einsum("nha,ab,nhb->nh", paired[0], turn.mT, paired[1]) / math.sqrt(width)
    for scope in ("query", "causal"):
        out = replace(model, scope=scope).forward(weights, p)
        torch.testing.assert_close(out.attention_logits, expected)


def _rotation(angle):
    return torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], dtype=torch.double)


@dataclass(frozen=True, kw_only=True)
class Sloped(PositionEncoding):
    """A bias that falls with distance, twice as fast in each head as in the one before."""

    def bias(self, heads, query, back):
        slopes = 2.0 ** torch.arange(heads, device=back.device)
        return -slopes[:, None, None] * (back - query[:, None])


def test_a_bias_on_the_logits():
    model = Transformer(d=8, d_mlp=16, heads=2, positions=Sloped())
    weights, p, _ = setup(model)
    without = replace(model, positions="none")
    for scope in ("query", "causal"):
        logits = replace(model, scope=scope).forward(weights, p).attention_logits
        plain = replace(without, scope=scope).forward(weights, p).attention_logits
        distance = torch.tensor([4.0, 3, 2, 1, 0], dtype=torch.double)
        torch.testing.assert_close(
            logits - plain, (-torch.tensor([[1.0], [2.0]]) * distance).double().expand_as(logits)
        )


@pytest.mark.parametrize("positions", ["learned", "rotary", "none", Sloped()], ids=str)
@pytest.mark.parametrize("heads", [1, 2])
def test_query_only_equals_full_attention(positions, heads):
    model = Transformer(d=8, d_mlp=16, heads=heads, positions=positions)
    weights, p, examples = setup(model, places=7)  # room for longer test sequences
    weights |= {n: torch.randn(7, 8, dtype=torch.double, requires_grad=True) for n in weights if n == "W_pos"}
    quick = model.forward(weights, p, detail=True)
    full = replace(model, scope="causal").forward(weights, p, detail=True)
    for name in quick.tensors().keys() - {"stream"}:
        torch.testing.assert_close(getattr(quick, name), getattr(full, name), msg=name)
    gradients = [
        torch.autograd.grad(F.cross_entropy(out.logits, examples.labels), list(weights.values()))
        for out in (quick, full)
    ]
    for name, a, b in zip(weights, *gradients, strict=True):
        torch.testing.assert_close(a, b, msg=name)


# ── MLP and readout ─────────────────────────────────────────────────────────────────────────────────────────


def test_gelu_is_no_steeper_than_it_says():
    z = torch.linspace(-6, 6, 20_001, dtype=torch.double, requires_grad=True)
    (slope,) = torch.autograd.grad(F.gelu(z).sum(), z)
    assert 0.998 * GELU.slope < slope.abs().max() <= GELU.slope


@dataclass(frozen=True, kw_only=True)
class Gated(ReLU):
    """relu(x W_in) · (x W_gate)"""

    def parameters(self, sizes):
        return super().parameters(sizes) | {"W_gate": Parameter((sizes.d, sizes.d_mlp), "matrix", 0.1, "mlp")}

    def hidden(self, x, weights):
        return super().hidden(x, weights) * (x @ weights["W_gate"])


def test_neurons_are_those_of_an_mlp_of_two_matrices():
    for mlp, known in ((ReLU(), True), (GELU(), True), (Gated(), False)):
        model = Transformer(d=8, d_mlp=16, mlp=mlp)
        assert (model.neurons(setup(model)[0]) is not None) == known


def test_a_bf16_rotation_has_all_digits():
    x, back = torch.randn(40, 8).bfloat16(), torch.arange(39, -1, -1)
    turned = Rotary().turn(x, back)
    torch.testing.assert_close(turned, Rotary().turn(x.double(), back).float(), rtol=1e-4, atol=1e-4)


def test_gelu_in_the_transformer():
    model = Transformer(d=8, d_mlp=16, mlp="gelu")
    weights, p, _ = setup(model)
    out = model.forward(weights, p, detail=True)
    x = weights["W_E"][-1] + weights["W_pos"][-1] + out.pooled[:, 0]
    expected = (x + F.gelu(x @ weights["W_in"]) @ weights["W_out"]) @ weights["W_U"]
    torch.testing.assert_close(out.logits, expected)
    bound = residual_lipschitz(GELU.slope * weights["W_in"], weights["W_out"], weights["W_U"])
    torch.testing.assert_close(model.lipschitz(weights), bound)


@dataclass(frozen=True, kw_only=True)
class Tied(Readout):
    """The embeddings of the operands are the unembedding."""

    def joined(self, stream, h):
        return stream + h

    def logits(self, x, written, weights):
        return (x + written) @ weights["W_E"][:7].mT

    def lipschitz(self, W_in, W_out, weights):
        return residual_lipschitz(W_in, W_out, weights["W_E"][:7].mT)


def test_a_read_out_of_ones_own():
    model = Transformer(d=8, d_mlp=16, heads=2, readout=Tied())
    weights, p, _ = setup(model)
    assert "W_U" not in weights and "W_O" in weights
    usual = replace(model, readout="residual").forward(weights | {"W_U": weights["W_E"][:7].mT}, p)
    torch.testing.assert_close(model.forward(weights, p).logits, usual.logits)
    assert model.neurons(weights) is None


# ── the fused path ───────────────────────────────────────────────────────────────────────────────────────────

FUSED = [
    {},
    {"positions": "rotary"},
    {"positions": "none"},
    {"positions": "rotary", "norm": "attention"},
    {"attention": "linear", "positions": "rotary", "norm": "query-key", "norm_kind": "rms"},
    {"attention": "entmax", "heads": 2},
    {"attention": Softmax(temperature=0.5)},
    {"attention": Softmax(temperature=2.0), "readout_scale": 3.0, "norm": "value"},
    {"norm": "mlp"},
    {"heads": 2},
    {"scope": "causal"},
    {"heads": 4, "scope": "causal", "norm": "both", "norm_kind": "rms", "positions": "rotary"},
]
PLAIN = [
    {"mlp": "gelu"},
    {"readout": "minimal"},
    {"dropout": 0.1},
    {"scope": "causal", "layers": 2},
]


@pytest.mark.parametrize("variant", FUSED, ids=lambda v: "-".join(map(str, v.values())))
def test_the_fused_path_of_stacked_runs_is_the_plain_path(tiny, variant):
    config = replace(tiny, model=Transformer(d=8, d_mlp=16, **variant))
    configs, device = [replace(config, seed=seed) for seed in (0, 1)], torch.device("cpu")
    program = Program(config, 2, device)
    for lane, own in enumerate(configs):
        program.load(lane, own, lane_data(own))
    assert program.objective.fused
    loss, out = program.objective.fused_loss(program.weights, program.train)
    found = torch.autograd.grad(loss.sum() + out.log_attention[..., 0].sum(), list(program.weights.values()))
    plain, shape = Objective(config, device, fuse=False), config.task.shape
    for lane, own in enumerate(configs):
        batch = with_plan(lane_data(own)[0], shape.vocabulary, shape.length)
        weights = {name: w[lane].detach().clone().requires_grad_() for name, w in program.weights.items()}
        alone = plain.forward(weights, batch)
        cross_entropy = F.cross_entropy(alone.logits, batch["labels"])
        torch.testing.assert_close(loss[lane], cross_entropy)
        torch.testing.assert_close(out.logits[lane], alone.logits, rtol=1e-4, atol=1e-5)
        total = cross_entropy + alone.log_attention[..., 0].sum()
        wanted = torch.autograd.grad(total, list(weights.values()))
        for name, a, b in zip(weights, found, wanted, strict=True):
            torch.testing.assert_close(a[lane], b, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("variant", PLAIN, ids=str)
def test_other_networks_fall_back(tiny, variant):
    config = replace(tiny, model=Transformer(d=8, d_mlp=16, **variant))
    assert not Objective(config, torch.device("cpu")).fused


@pytest.mark.parametrize("variant", [{"positions": "rotary"}, {"positions": "none"}, {"positions": Sloped()}], ids=str)
@pytest.mark.parametrize("also", [{}, {"mlp": "gelu"}, {"norm": "both", "heads": 2}], ids=str)
def test_lemma_5_1_holds_while_a_run_memorises(tiny, variant, also):
    config = replace(tiny, model=Transformer(d=8, d_mlp=16, **variant, **also))
    program = Program(config, 1, torch.device("cpu"))
    program.load(0, config, lane_data(config))
    for _ in range(6):
        table = program.evaluate()
        assert 0 < table["bound_ratio"][0] <= 1 + 1e-5
        for _ in range(20):
            program.train_epoch()


class Sparsemax(Attention):
    """Martins & Astudillo 2016: ∂h/∂ℓ_j is not along v_j − h, so there is no sensitivity."""

    def normalise(self, logits, hidden):
        if hidden is not None:
            logits = logits.masked_fill(hidden, -1e9)
        ordered = logits.sort(-1, descending=True).values
        rank = torch.arange(1, logits.shape[-1] + 1)
        above = (ordered.cumsum(-1) - 1) / rank
        support = (ordered > above).sum(-1, keepdim=True)
        attention = torch.relu(logits - above.gather(-1, support - 1))
        return attention.clamp_min(1e-9).log(), attention


def test_an_attention_without_a_sensitivity_logs_no_bound(tiny):
    config = replace(tiny, model=Transformer(d=8, d_mlp=16, attention=Sparsemax()))
    program = Program(config, 2, torch.device("cpu"))
    for lane in range(2):
        program.load(lane, config, lane_data(config))
    program.train_epoch()
    table = program.evaluate()
    assert not any("bound" in name for name in table)
    assert table["grad_logit"][0] > 0 and table["grad_M"][0] > 0
    assert sum(table[f"attention_{j}"][0] for j in range(5)) == pytest.approx(1, rel=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["float32", "tf32"])
@pytest.mark.parametrize("variant", [*FUSED, *PLAIN, {"positions": Sloped(), "scope": "causal"}], ids=str)
def test_a_gpu_fleet_stays_near_the_plain_run(tiny, variant, precision):
    config = replace(tiny, model=Transformer(d=16, d_mlp=32, **variant), precision=precision)
    program = Program(config, 3, torch.device("cuda"))
    alone = Program(replace(config, precision="float32"), 1, torch.device("cpu"), fuse=False)
    for lane in range(3):
        program.load(lane, replace(config, seed=lane), lane_data(replace(config, seed=lane)))
    alone.load(0, replace(config, seed=1), lane_data(replace(config, seed=1)))
    for _ in range(10):
        program.train_epoch()
        alone.train_epoch()
    assert (program.flat[1].cpu() - alone.flat[0]).norm() < 0.02 * alone.flat[0].norm()
    assert all(math.isfinite(value) for values in program.evaluate().values() for value in values)
