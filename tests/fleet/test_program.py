"""The stacked program against the run alone: what happens in one lane stays there."""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import lane_data
from grokscope.fleet.division import has_long_steps
from grokscope.fleet.program import Program
from grokscope.measures import measures
from grokscope.optim.adamw import AdamW
from grokscope.priors import Constraints
from grokscope.priors.kl import KL
from grokscope.tickets.initial import Random

CPU = torch.device("cpu")


def program_of(*configs):
    program = Program(configs[0], len(configs), CPU)
    for lane, config in enumerate(configs):
        program.load(lane, config, lane_data(config))
    return program


def trained(*configs, epochs=8):
    program = program_of(*configs)
    for _ in range(epochs):
        program.train_epoch()
    return program


def test_a_lane_equals_the_run_alone(tiny):
    configs = [
        replace(tiny, seed=0),
        replace(tiny, seed=1, optim=AdamW(lr=3e-3, weight_decay=0.1, warmup=2.0)),
        replace(tiny, seed=2, prior=KL(beta=2.0, target="adversarial", schedule="pulse", span=4.0)),
    ]
    together = trained(*configs)
    for lane, config in enumerate(configs):
        alone = trained(config)
        torch.testing.assert_close(together.flat[lane], alone.flat[0], rtol=1e-4, atol=1e-5)


def test_neighbours_do_not_matter(tiny):
    first = trained(replace(tiny, seed=0), replace(tiny, seed=1), replace(tiny, seed=2)).flat
    other = trained(replace(tiny, seed=0), replace(tiny, seed=7, optim=AdamW(lr=0.3)), replace(tiny, seed=2)).flat
    assert torch.equal(first[[0, 2]], other[[0, 2]])
    assert not torch.equal(first[1], other[1])


def test_the_lane_does_not_matter(tiny):
    runs = [replace(tiny, seed=seed) for seed in range(3)]
    assert torch.equal(trained(*runs).flat, trained(*runs[::-1]).flat.flip(0))


def test_nan_stays_in_its_lane(tiny):
    runs = [replace(tiny, seed=seed) for seed in range(3)]
    clean, sick = program_of(*runs), program_of(*runs)
    sick.flat[1] = float("nan")
    for _ in range(5):
        clean.train_epoch()
        sick.train_epoch()
    assert torch.equal(clean.flat[[0, 2]], sick.flat[[0, 2]])
    assert sick.flat[1].isnan().all()
    clean_table, sick_table = clean.evaluate(), sick.evaluate()
    for name, values in clean_table.items():
        assert values[0] == sick_table[name][0], name


def test_a_run_that_diverges_alone_is_measured_like_any_other(tiny):
    program = program_of(tiny)
    program.flat.fill_(float("nan"))
    program.train_epoch()
    assert math.isnan(program.evaluate()["train_loss"][0])


def test_rates_of_the_next_steps_are_forgotten_when_a_run_comes_in(tiny):
    """A run that takes a lane late warms up as if it were alone."""
    late, other = replace(tiny, seed=1), replace(tiny, seed=0)
    program = trained(other, other, epochs=4)
    program.load(1, late, lane_data(late))
    for _ in range(4):
        program.train_epoch()
    assert torch.equal(program.flat[1], trained(other, late, epochs=4).flat[1])


def test_saved_state_goes_on_to_the_same_bits(tiny):
    runs = [replace(tiny, seed=0), replace(tiny, seed=1)]
    through = trained(*runs, epochs=10)
    half = trained(*runs, epochs=4)
    again = Program(tiny, 2, CPU)
    for lane, config in enumerate(runs):
        again.load(lane, config, lane_data(config), half.unload(lane), None)
    for _ in range(6):
        again.train_epoch()
    assert torch.equal(through.flat, again.flat)
    assert torch.equal(through.step, again.step)


def test_narrowing_keeps_the_bits(tiny):
    runs = [replace(tiny, seed=seed) for seed in range(4)]
    whole = trained(*runs, epochs=9)
    program = trained(*runs, epochs=4).narrow([1, 3])
    for _ in range(5):
        program.train_epoch()
    assert torch.equal(program.flat, whole.flat[[1, 3]])


def test_weights_of_the_program_are_those_of_the_buffer(tiny):
    program = trained(tiny, epochs=2)
    assert torch.equal(program.layout.join({n: w.detach() for n, w in program.weights.items()}), program.flat)


def test_dense_and_pruned_runs_share_a_program(tiny):
    pruned = replace(tiny, seed=1, ticket=Random(rate=0.5))
    program = trained(tiny, pruned)
    assert program.flat[0].count_nonzero() == program.layout.size
    zero = trained(pruned, epochs=0).flat[0] == 0
    assert torch.equal(program.flat[1] == 0, zero)
    torch.testing.assert_close(program.flat[0], trained(tiny).flat[0], rtol=2e-3, atol=2e-4)


def test_norm_matching_holds_the_mlp_norm(tiny):
    program = trained(
        replace(tiny, constraint=Constraints(norm=2.5)), replace(tiny, seed=1, constraint=Constraints(norm=4.0))
    )
    norms = program.evaluate()["mlp_norm"]
    assert norms == pytest.approx([2.5, 4.0], rel=1e-5)


def test_qk_penalty_shrinks_query_and_key(tiny):
    strong = trained(replace(tiny, constraint=Constraints(qk_penalty=5.0)), epochs=40).evaluate()
    weak = trained(replace(tiny, constraint=Constraints(qk_penalty=1e-6)), epochs=40).evaluate()
    assert strong["norm_W_Q"][0] < weak["norm_W_Q"][0]
    assert strong["norm_W_K"][0] < weak["norm_W_K"][0]


@pytest.mark.parametrize(("kind", "divergence"), [("oracle", 0.0), ("uniform", 0.9163)])
def test_frozen_attention_is_what_it_says(tiny, kind, divergence):
    """Uniform over 5 positions with 2 informative: D = log(5/2) = 0.9163."""
    table = trained(replace(tiny, constraint=Constraints(attention=kind))).evaluate()
    assert table["D"][0] == pytest.approx(divergence, abs=1e-4)
    assert table["grad_M"][0] == 0


@pytest.mark.parametrize("batch_size", [0, 7])
def test_one_operand_per_head_is_the_oracle_together_and_no_head_alone(tiny, batch_size):
    model = replace(tiny.model, heads=2)
    config = replace(tiny, model=model, batch_size=batch_size, constraint=Constraints(attention="oracle-by-head"))
    table = trained(config).evaluate()
    assert table["D"][0] == pytest.approx(0, abs=1e-4)
    assert table["mass_best_head"][0] < 1e-6
    assert table["grad_M"][0] == 0


@pytest.mark.parametrize("scope", ["query", "causal"])
@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_other_precisions_stay_near_float32(tiny, precision, scope):
    config = replace(tiny, model=replace(tiny.model, scope=scope))
    exact = trained(config, epochs=30).evaluate()
    rough = trained(replace(config, precision=precision), epochs=30)
    assert rough.flat.dtype == torch.float32
    assert rough.evaluate()["train_loss"][0] == pytest.approx(exact["train_loss"][0], rel=0.1)
    assert torch.get_float32_matmul_precision() == "highest"


def test_mini_batches_follow_the_seed_and_cover_the_epoch(tiny):
    config = replace(tiny, batch_size=7)
    assert config.steps_per_epoch == 4  # 29 examples
    program = program_of(config, replace(config, seed=1))
    seen = [[], []]
    for _ in range(config.steps_per_epoch):
        batch = program._batch()
        for lane in range(2):
            seen[lane] += batch["row"][lane].tolist()
        program.step += 1
    for lane in range(2):
        assert len({tuple(row) for row in seen[lane]}) == 28  # no example twice
    assert seen[0] != seen[1]
    alone = trained(replace(config, seed=1), epochs=3)
    both = trained(config, replace(config, seed=1), epochs=3)
    torch.testing.assert_close(alone.flat[0], both.flat[1], rtol=1e-4, atol=1e-5)


def test_epochs_are_shuffled_anew(tiny):
    program = program_of(replace(tiny, batch_size=7))
    first = program._batch()["row"].clone()
    program.step += 4
    assert not torch.equal(first, program._batch()["row"])


def test_evaluation_changes_nothing(tiny):
    program = trained(tiny, replace(tiny, seed=1))
    before = program.flat.clone()
    table = program.evaluate()
    assert table == program.evaluate()
    assert torch.equal(before, program.flat)


def test_code_that_does_not_take_a_key_is_refused_before_training(tiny):
    @dataclass(frozen=True, kw_only=True)
    class Older(AdamW):
        def update(self, weight, grad, state, *, role, step, lr):
            return weight, state

    with pytest.raises(ConfigError, match=r"optim: .*Older\.update does not take key, passed as a keyword argument"):
        Program(replace(tiny, optim=Older()), 1, CPU)


def test_two_measures_with_one_column_are_refused(tiny, monkeypatch):
    monkeypatch.setitem(measures.entries(), "mine", lambda view: {"D": view.prior_loss})
    with pytest.raises(ConfigError, match="measure: attention and mine both return D"):
        program_of(tiny).evaluate()


def test_a_step_is_recorded_anew_when_a_prior_comes_or_goes(tiny, monkeypatch):
    program, recorded = Program(tiny, 1, CPU), []
    monkeypatch.setattr(program, "_record", lambda: recorded.append("target" in program.train))
    for beta in (0.0, 0.0, 0.1, 0.2, 0.0):
        config = replace(tiny, prior=KL(beta=beta))
        program.load(0, config, lane_data(config))
    assert recorded == [False, True, False]


def test_few_lanes_launch_several_steps_at_once_and_many_do_not(tiny):
    assert not has_long_steps(tiny, 64)
    assert [has_long_steps(RunConfig(), lanes) for lanes in (1, 16, 512)] == [False, False, True]
