"""Edge-popup: its gradient, what it trains and what it leaves alone."""

from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.optim.adamw import AdamW
from grokscope.optim.muon import Muon
from grokscope.optim.sgd import SGD
from grokscope.papers.grokking_tickets.equations import edge_popup_update
from grokscope.theory import edge_popup_mask
from grokscope.tickets import Origin
from grokscope.tickets.edge_popup import EdgePopup, straight_through


def test_the_mask_is_the_papers():
    scores = torch.randn(6, 9)
    for rate in (0.0, 0.25, 0.6):
        assert torch.equal(straight_through(scores, rate).bool(), edge_popup_mask(scores, rate))


def test_the_score_gradient_is_the_papers_step():
    """I = Z (w ⊙ h(s)): one step of plain gradient descent on s is App. H's update."""
    generator = torch.Generator().manual_seed(0)
    inputs, weight, scores, to = (torch.randn(shape, generator=generator) for shape in ((5, 4), (4, 3), (4, 3), (5, 3)))
    scores.requires_grad_()
    arrives = inputs @ (weight * straight_through(scores, 0.5))
    (arrives * to).sum().backward()
    with torch.no_grad():
        expected = edge_popup_update(scores, weight, inputs, to, 0.1)
        torch.testing.assert_close(scores - 0.1 * scores.grad, expected)


def program_with(tiny, **settings):
    config = replace(tiny, ticket=EdgePopup(run="r", **settings), optim=AdamW(lr=1e-2, weight_decay=0.5)).check()
    start = config.model.init(config.task.shape, torch.Generator().manual_seed(5))
    program = Program(config, 2, torch.device("cpu"))
    for lane in range(2):
        program.load(lane, replace(config, seed=lane), lane_data(config), origin=Origin(start, start, {}))
    return program, start


def test_frozen_weights_do_not_move_and_scores_do(tiny):
    program, start = program_with(tiny)
    before = {name: w.clone() for name, w in program.layout.cut(program.flat).items()}
    for _ in range(5):
        program.train_epoch()
    after = program.layout.cut(program.flat)
    for name, weight in start.items():
        assert torch.equal(after[name][0], weight)
        assert not torch.equal(after[f"score/{name}"], before[f"score/{name}"])


def test_trained_weights_decay_and_scores_do_not(tiny):
    program, start = program_with(tiny, weights="trained", lr=1e-12)
    before = {name: w.clone() for name, w in program.layout.cut(program.flat).items()}
    for _ in range(3):
        program.train_epoch()
    after = program.layout.cut(program.flat)
    assert all(not torch.equal(after[name], before[name]) for name in start)
    for name in start:
        torch.testing.assert_close(after[f"score/{name}"], before[f"score/{name}"], rtol=0, atol=1e-9)
    pruned = before["score/W_in"].flatten(1) < before["score/W_in"].flatten(1).quantile(0.55, dim=1, keepdim=True)
    moved, was = (side["W_in"].flatten(1)[pruned] for side in (after, before))
    ratio = (moved / was)[was.abs() > 1e-3]  # without gradient a weight only decays
    assert ratio.std() < 1e-4 and ratio.mean() < 1


@pytest.mark.parametrize("weights", ["frozen", "trained"])
def test_scores_decay_at_their_own_rate(tiny, weights):
    """With a learning rate too small for gradients to show beside the decay, scores shrink by (1 − lr·decay) per step."""
    program, start = program_with(tiny, weights=weights, lr=1e-6, decay=1e5)
    before = {name: w.clone() for name, w in program.layout.cut(program.flat).items()}
    for _ in range(2):
        program.train_epoch()
    after = program.layout.cut(program.flat)
    for name in start:
        torch.testing.assert_close(after[f"score/{name}"], 0.9**2 * before[f"score/{name}"], rtol=0, atol=5e-6)
        assert torch.equal(after[name], before[name]) == (weights == "frozen")


def test_ranking_by_magnitude_keeps_large_negative_scores_and_turns_their_gradient():
    ticket = EdgePopup(run="r", rate=0.5, rank_by="magnitude")
    scores = torch.tensor([[-3.0, 0.1], [2.0, -0.2]], requires_grad=True)
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    kept = ticket.effective({"W": weight, "score/W": scores})["W"]
    assert kept.tolist() == [[1.0, 0.0], [3.0, 0.0]]
    kept.sum().backward()
    assert scores.grad.tolist() == [[-1.0, 2.0], [3.0, -4.0]]
    signed = EdgePopup(run="r", rate=0.5).effective({"W": weight, "score/W": scores.detach()})["W"]
    assert signed.tolist() == [[0.0, 2.0], [3.0, 0.0]]


def test_tickets_that_decay_or_rank_differently_do_not_share_a_program():
    same = EdgePopup(run="r").structure()
    assert same != EdgePopup(run="r", decay=1.0).structure() != EdgePopup(run="r", rank_by="magnitude").structure()
    with pytest.raises(ConfigError, match="below 0"):
        EdgePopup(run="r", decay=-1.0).check()


def test_measures_see_the_subnetwork(tiny):
    program, start = program_with(tiny, rate=0.5, scores="magnitude")
    table = program.evaluate()
    kept = straight_through(start["W_in"].abs(), 0.5)
    assert table["norm_W_in"][0] == pytest.approx(float((start["W_in"] * kept).norm()), rel=1e-5)
    assert not any(name.startswith("norm_score") for name in table)


def test_a_run_that_goes_on_keeps_its_scores(tiny):
    program, _ = program_with(tiny)
    program.train_epoch()
    saved = program.unload(1)
    again = Program(program.config, 2, torch.device("cpu"))
    again.load(1, replace(program.config, seed=1), lane_data(program.config), saved)
    assert torch.equal(again.flat[1], program.flat[1])


def test_it_needs_an_optimizer_that_works_weight_by_weight(tiny):
    with pytest.raises(ConfigError, match="every weight independently"):
        replace(tiny, ticket=EdgePopup(run="r"), optim=Muon()).check()
    replace(tiny, ticket=EdgePopup(run="r"), optim=SGD()).check()
