"""One network for all who look at a stored run: what it answers is what was logged while it trained."""

from dataclasses import replace

import pytest
import torch

from grokscope.launch import train
from grokscope.models.transformer import Transformer
from grokscope.papers.structural_inference.audit import read_evidence
from grokscope.priors import Constraints
from grokscope.priors.kl import KL
from grokscope.probes import probes
from grokscope.run import Network, StoredRun
from grokscope.run.stored import teacher_attention, ticket_origin
from grokscope.tickets.edge_popup import EdgePopup
from grokscope.tickets.initial import Random
from grokscope.tickets.trained import Magnitude, Transplant

VARIANTS = {
    "plain": {},
    "frozen attention": {"constraint": Constraints(attention="oracle")},
    "uniform attention": {"constraint": Constraints(attention="uniform")},
    "bf16": {"precision": "bf16"},
    "pruned": {"ticket": Random(rate=0.5)},
    "causal, several heads": {"model": Transformer(d=8, d_mlp=16, heads=2, layers=2, scope="causal")},
}


@pytest.fixture
def trained(tmp_path):
    def make(config):
        return StoredRun(train(replace(config, epochs=30), runs=tmp_path, device="cpu")[0])

    return make


@pytest.fixture
def searched(tiny, trained):
    """Edge-popup on a trained run: the stored weights are dense, the network is not."""
    dense = trained(tiny)
    return trained(replace(tiny, seed=3, ticket=EdgePopup(run=dense.id, rate=0.5)))


def assert_as_logged(run):
    last, network = run.metrics.iloc[-1], run.network()
    for side, examples in run.split._asdict().items():
        out = network(examples)
        loss = torch.nn.functional.cross_entropy(out.answers, examples.labels)
        accuracy = (out.answers.argmax(-1) == examples.labels).float().mean()
        assert loss.item() == pytest.approx(last[f"{side}_loss"], rel=1e-3)
        assert accuracy.item() == pytest.approx(last[f"{side}_accuracy"], abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_answers_as_it_did_while_it_trained(tiny, trained, variant):
    assert_as_logged(trained(replace(tiny, **VARIANTS[variant])))


def test_edge_popup_computes_with_the_subnetwork(searched):
    assert_as_logged(searched)
    weights = searched.network().weights
    assert set(weights) == set(searched.network().parameters)
    assert (weights["W_in"] == 0).float().mean() == pytest.approx(0.5, abs=0.02)


def test_probes_see_frozen_attention(tiny, trained):
    run = trained(replace(tiny, constraint=Constraints(attention="oracle")))
    table = probes.get("shortcut")(run)
    whole = table[(table["side"] == "test") & (table["kept"] == "everything")]
    assert whole["accuracy"].iloc[-1] == pytest.approx(run.metrics["test_accuracy"].iloc[-1], abs=1e-6)
    # nothing is read from distractors that attention is kept away from
    operands = table[(table["side"] == "test") & (table["kept"] == "operands")]
    assert operands["cross_entropy"].iloc[-1] == pytest.approx(whole["cross_entropy"].iloc[-1], rel=1e-5)


def test_a_teacher_with_frozen_attention_hands_that_on(tiny, trained):
    teacher = trained(replace(tiny, constraint=Constraints(attention="oracle")))
    student = replace(tiny, seed=9, prior=KL(beta=1.0, target="teacher", teacher=teacher.id))
    target = teacher_attention(student, teacher.runs)
    informative = student.task.split(9).train.informative
    torch.testing.assert_close(target, informative / informative.sum(-1, keepdim=True))


def test_the_audit_sees_the_subnetwork_of_edge_popup(searched):
    replayed = read_evidence(searched.info).trained
    assert replayed.accuracy == pytest.approx(searched.metrics["test_accuracy"].iloc[-1], abs=1e-6)
    bound = searched.config.model.lipschitz(searched.network().double().weights)
    assert replayed.lipschitz == pytest.approx(bound.item())


def test_the_start_of_a_ticket_run_is_where_it_started(tiny, trained):
    dense = trained(tiny)
    ticket = trained(replace(tiny, ticket=Magnitude(run=dense.id, rate=0.5)))
    start, first = (
        ticket.start(),
        Network.from_tensors(tiny, {f"weight/{n}": w for n, w in dense.start().weights.items()}),
    )
    for name, mask in start.mask.items():
        assert torch.equal(start.weights[name], first.weights[name] * mask)
    moved = trained(replace(tiny, seed=5, ticket=Transplant(run=dense.id, parts=("attention",))))
    assert torch.equal(moved.start().weights["W_Q"], dense.network().weights["W_Q"])
    # the ticket of a ticket run goes back to where that run started, not to fresh weights
    again = ticket_origin(replace(tiny, ticket=Magnitude(run=moved.id)), moved.runs)
    assert torch.equal(again.start["W_Q"], dense.network().weights["W_Q"])


def test_float64_is_near_what_was_trained(tiny, trained):
    run = trained(tiny)
    double = run.network().double()(run.split.test)
    assert double.answers.dtype == torch.float64
    torch.testing.assert_close(double.answers.float(), run.network()(run.split.test).answers, rtol=1e-3, atol=1e-4)
