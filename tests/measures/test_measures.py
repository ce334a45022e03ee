"""Measures: by hand where it can be done, against autograd where not, and Lemma 5.1 on a run that memorises."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.measures import View, measures
from grokscope.measures.base import Side
from grokscope.models import Output
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")


def program_of(config, epochs=0):
    program = Program(config, 1, CPU)
    program.load(0, config, lane_data(config), None, None)
    for _ in range(epochs):
        program.train_epoch()
    return program


@pytest.fixture
def small():
    return RunConfig(task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6), model=Transformer(d=8, d_mlp=16))


@pytest.mark.parametrize("heads", [1, 2])
def test_gradient_on_M(small, heads):
    """One head: M = W_Q W_Kᵀ, so a probe added to M must have the gradient that the measure reports."""
    config = replace(small, model=Transformer(d=8, d_mlp=16, heads=heads))
    program = program_of(config, epochs=3)
    weights = {name: w[0].detach() for name, w in program.weights.items()}
    split = config.task.split(0)
    x = weights["W_E"][split.train.inputs] + weights["W_pos"]
    width = 8 // heads
    probes = torch.zeros(heads, 8, 8, requires_grad=True)
    pooled = []
    for h in range(heads):
        part = slice(h * width, (h + 1) * width)
        M = weights["W_Q"][:, part] @ weights["W_K"][:, part].T + probes[h]
        attention = torch.softmax(torch.einsum("nd,de,nje->nj", x[:, -1], M, x) / width**0.5, -1)
        pooled.append(torch.einsum("nj,njd->nd", attention, x @ weights["W_V"][:, part]))
    h = torch.cat(pooled, -1)
    stream = x[:, -1] + (h @ weights["W_O"] if heads > 1 else h)
    logits = (stream + torch.relu(stream @ weights["W_in"]) @ weights["W_out"]) @ weights["W_U"]
    loss = torch.nn.functional.cross_entropy(logits, split.train.labels)
    (gradient,) = torch.autograd.grad(loss, probes)
    table = program.evaluate()
    assert table["grad_M"][0] == pytest.approx(gradient.norm().item(), rel=1e-4)
    assert table["train_loss"][0] == pytest.approx(loss.item(), rel=1e-5)


def test_norms_by_hand(small):
    program = program_of(small)
    table = program.evaluate()
    weights = {name: w[0].detach() for name, w in program.weights.items()}
    squares = weights["W_in"].square().sum() + weights["W_out"].square().sum()
    assert table["mlp_norm"][0] == pytest.approx(squares.sqrt().item(), rel=1e-5)
    for name, weight in weights.items():
        assert table[f"norm_{name}"][0] == pytest.approx(weight.norm().item(), rel=1e-5)


def test_attention_profile_sums_to_one_and_masses_agree(small):
    table = program_of(small, epochs=5).evaluate()
    profile = [table[f"attention_{j}"][0] for j in range(5)]
    assert sum(profile) == pytest.approx(1, rel=1e-5)
    assert table["mass_worst"][0] <= table["mass_mean"][0] <= min(profile[:2]) + 1e-6


NORMED = [{"norm": norm} for norm in ("attention", "mlp", "both", "query-key", "value")]
VARIANTS = [{}, {"heads": 2}, {"readout": "minimal"}, {"attention": "linear"}, {"readout_scale": 4.0}, *NORMED]
VARIANTS += [{"norm": "both", "norm_kind": "rms", "heads": 2}, {"norm": "mlp", "readout": "minimal"}]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_lemma_5_1_holds_while_a_run_memorises(small, variant):
    config = replace(small, model=Transformer(d=8, d_mlp=32, **variant), optim=AdamW(lr=1e-2, weight_decay=0.1))
    program = program_of(config)
    ratios, losses = [], []
    for _ in range(12):
        table = program.evaluate()
        ratios.append(table["bound_ratio"][0])
        losses.append(table["train_loss"][0])
        assert table["grad_logit"][0] <= table["bound"][0] * (1 + 1e-5) <= table["bound_paper"][0] * (1 + 1e-4)
        for _ in range(25):
            program.train_epoch()
    assert losses[-1] < 0.5 * losses[0]
    assert max(ratios) <= 1 + 1e-5
    assert min(ratios) > 0


def test_gradient_on_M_of_normalised_queries_and_keys(small):
    """M acts on what queries and keys read."""
    config = replace(small, model=Transformer(d=8, d_mlp=16, norm="query-key"))
    program = program_of(config, epochs=3)
    weights = {name: w[0].detach() for name, w in program.weights.items()}
    split = config.task.split(0)
    x = weights["W_E"][split.train.inputs] + weights["W_pos"]
    normal = torch.nn.functional.layer_norm(x, (8,), eps=1e-5)
    probe = torch.zeros(8, 8, requires_grad=True)
    M = weights["W_Q"] @ weights["W_K"].T + probe
    attention = torch.softmax(torch.einsum("nd,de,nje->nj", normal[:, -1], M, normal) / 8**0.5, -1)
    stream = x[:, -1] + torch.einsum("nj,njd->nd", attention, x @ weights["W_V"])
    logits = (stream + torch.relu(stream @ weights["W_in"]) @ weights["W_out"]) @ weights["W_U"]
    (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, split.train.labels), probe)
    assert program.evaluate()["grad_M"][0] == pytest.approx(gradient.norm().item(), rel=1e-4)


def test_entropy_of_each_head(small):
    config = replace(small, model=Transformer(d=8, d_mlp=16, heads=2))
    program = program_of(config, epochs=3)
    table = program.evaluate()
    weights = {name: w[0].detach() for name, w in program.weights.items()}
    x = weights["W_E"][config.task.split(0).test.inputs] + weights["W_pos"]
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        scores = torch.einsum("nd,njd->nj", x[:, -1] @ weights["W_Q"][:, part], x @ weights["W_K"][:, part]) / 2
        expected = torch.distributions.Categorical(logits=scores).entropy().mean().item()
        assert table[f"entropy_head_{head}"][0] == pytest.approx(expected, rel=1e-4)
    both = [table[f"entropy_head_{head}"][0] for head in range(2)]
    assert table["entropy"][0] == pytest.approx(sum(both) / 2, rel=1e-5)
    assert both[0] != pytest.approx(both[1], rel=1e-4)
    assert not any(name.startswith("entropy_head") for name in program_of(small).evaluate())


def test_mass_of_the_head_that_has_most(small):
    """Two heads that each see one operand cover both together, though neither does alone."""
    config = replace(small, model=Transformer(d=8, d_mlp=16, heads=2))
    logits = torch.full((4, 2, 5), -9.0)
    logits[:, 0, 0] = logits[:, 1, 1] = 9.0
    log_attention = torch.log_softmax(logits, -1)
    out = Output(torch.zeros(4, 7), log_attention.exp(), log_attention, logits)
    informative = config.task.split(0).test.informative[:4]
    side = Side(out, torch.zeros(4), torch.zeros(()), torch.zeros(4, dtype=torch.long), informative)
    found = measures.get("attention")(View({}, {}, side, side, torch.zeros(())))
    assert found["mass_mean"].item() == pytest.approx(0.5, abs=1e-4)
    assert found["mass_best_head"].item() == pytest.approx(0, abs=1e-4)
    both = torch.log_softmax(torch.tensor([[9.0, 9.0, -9, -9, -9], [0.0] * 5]).expand(4, 2, 5), -1)
    side = side._replace(out=Output(torch.zeros(4, 7), both.exp(), both, both))
    found = measures.get("attention")(View({}, {}, side, side, torch.zeros(())))
    assert found["mass_best_head"].item() == pytest.approx(0.5, abs=1e-4)
    assert "mass_best_head" not in program_of(small).evaluate()


def test_every_measure_gives_finite_numbers_for_next_token_tasks():
    from grokscope.tasks.autoregressive import AutoregressiveParity

    config = RunConfig(
        task=AutoregressiveParity(n=6, k=2, train_fraction=0.5), model=Transformer(d=8, d_mlp=16, scope="causal")
    )
    table = program_of(config, epochs=2).evaluate()
    assert all(abs(values[0]) < 1e9 for values in table.values())
    assert table["test_accuracy"][0] <= 1
    assert len(measures.entries()) >= 4
