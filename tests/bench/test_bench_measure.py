"""Timing itself is not tested: that the right things are timed, that limits follow from them, and that gaps are survived."""

import json
from dataclasses import replace

import pytest
import torch

from grokscope.bench import ceilings, fleet, measure, scaling
from grokscope.bench.fleet import FleetLoop, fastest_window, out_of_memory, seconds_per_epoch
from grokscope.bench.trace import Product, step_cost
from grokscope.bench.verify import DifferentNetworkError
from grokscope.config import Log, RunConfig
from grokscope.fleet.data import lane_data
from grokscope.models.transformer import Transformer
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")
TINY = RunConfig(
    task=Modular(p=7, alphabet=3, train_fraction=0.6), model=Transformer(d=8, d_mlp=16), log=Log(every=5), epochs=10
)


def test_the_products_timed_are_those_counted(monkeypatch):
    """As often, of as many lanes and in the precision asked for, with factors stored as in the step."""
    done = []
    monkeypatch.setattr(ceilings, "fastest", lambda step, *how: step() or 6.0)
    whole = torch.Tensor.__matmul__

    def record(a, b):
        done.append((tuple(a.shape), tuple(b.shape), a.is_contiguous(), b.is_contiguous(), a.dtype))
        return whole(a, b)

    monkeypatch.setattr(torch.Tensor, "__matmul__", record)
    products = [Product(3, 4, 5, calls=2), Product(2, 3, 4, 10, transposed=(True, False))]
    assert ceilings.products_seconds(products, 2, "bf16", CPU) == 3.0  # of one lane
    assert done == [
        ((2, 3, 4), (2, 4, 5), True, True, torch.bfloat16),
        ((2, 3, 4), (2, 4, 5), True, True, torch.bfloat16),
        ((20, 2, 3), (20, 3, 4), False, True, torch.bfloat16),
    ]


def test_the_limit_is_the_slower_of_products_and_bytes():
    assert measure.limit(0.5, 10, 100.0) == 2
    assert measure.limit(0.01, 10, 100.0) == 10


def test_many_lanes_are_copies_of_a_few_seeds():
    loop = FleetLoop(TINY, 11, CPU)
    assert [program.seed.tolist() for program in loop.programs] == [[seed % 8] for seed in range(11)]
    assert torch.equal(loop.programs[1].flat, loop.programs[9].flat)
    assert torch.equal(loop.programs[10].train["labels"][0], lane_data(replace(TINY, seed=2))[0]["labels"])
    loop.train(10)
    assert [program.step.item() for program in loop.programs] == [10] * 11
    assert seconds_per_epoch(loop, 1e-6) > 0
    assert [program.step.item() for program in loop.programs] == [12] * 11  # one to warm up, one that is timed


def test_workers_that_share_lanes_train_each_as_alone(monkeypatch):
    monkeypatch.setattr(fleet, "plan_workers", lambda configs, device, cores: 3)
    loop, alone = FleetLoop(TINY, 5, CPU), FleetLoop(TINY, 1, CPU)
    for each in (loop, alone):
        each.train(7)
    assert torch.equal(loop.programs[0].flat, alone.programs[0].flat)


@pytest.mark.parametrize("copied", [1e7, 1e12])
def test_rows_and_ratios_agree(monkeypatch, copied):
    monkeypatch.setattr(measure, "square_rate", lambda *_: 1e9)
    monkeypatch.setattr(measure, "copy_rate", lambda *_: copied)
    for module in (fleet, ceilings):
        monkeypatch.setattr(module, "WINDOW", 0.001)
    monkeypatch.setattr(measure, "ROUNDS", 2)
    quick = replace(TINY, log=Log(every=1))
    result = measure.bench(quick, [2], CPU, precisions=["float32", "bf16"], seconds=0.01)
    assert json.loads(json.dumps(result)) == result
    assert [(row["precision"], row["lanes"]) for row in result["fleet"]] == [("float32", 2), ("bf16", 2)]
    moved = result["counts"]["bytes"] / copied
    for row in result["fleet"]:
        assert row["ratio"] == pytest.approx(row["run_steps_per_s"] / result["plain_run_steps_per_s"])
        assert row["limit"] == pytest.approx(1 / max(moved, row["products_s"]))
        assert row["of_limit"] == pytest.approx(row["run_steps_per_s"] / row["limit"])
        assert row["step_s"] == pytest.approx((1 - row["diagnostics"]) / row["run_steps_per_s"])


def test_the_fastest_of_each_part_counts():
    a = {"step_s": 0.8, "look_s": 1.0, "products_s": 0.2}
    b = {"step_s": 0.4, "look_s": 2.0, "products_s": 0.3}
    best = measure.faster(a, b, TINY)  # evaluations every 5 epochs
    assert best == measure.faster(b, a, TINY)
    assert (best["step_s"], best["look_s"], best["products_s"]) == (0.4, 1.0, 0.2)
    assert best["run_steps_per_s"] == pytest.approx(1 / (0.4 + 1.0 / 5))
    assert best["diagnostics"] == pytest.approx(1 / 3)
    assert best["step_over_products"] == pytest.approx(2.0)
    gap = dict.fromkeys(a)
    assert measure.faster(a, gap, TINY) == gap


def no_memory(*_):
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_out_of_memory_is_a_gap(monkeypatch):
    monkeypatch.setattr(measure, "FleetLoop", no_memory)
    row = measure.fleet_row(TINY, (), 4, CPU, 0.1)
    assert (row["lanes"], row["run_steps_per_s"], row["products_s"]) == (4, None, None)
    monkeypatch.setattr(scaling, "FleetLoop", no_memory)
    monkeypatch.setattr(scaling, "copy_rate", lambda *_: 1e9)
    monkeypatch.setattr(scaling, "square_rate", lambda *_: 1e12)
    monkeypatch.setattr(scaling, "AXES", {"lanes": (1, 2)})
    rows = list(scaling.scaling(TINY, CPU, seconds=0.1))
    assert [(row["value"], row["run_steps_per_s"], row["note"]) for row in rows] == [
        (1, None, "out of memory"),
        (2, None, "out of memory"),
    ]


def test_other_errors_are_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(measure, "FleetLoop", broken)
    with pytest.raises(RuntimeError, match="do not fit"):
        measure.fleet_row(TINY, (), 4, CPU, 0.1)


def test_out_of_memory_is_known_by_what_came_first():
    assert out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    assert not out_of_memory(RuntimeError("an illegal memory access was encountered"))
    try:
        try:
            no_memory()
        finally:
            raise RuntimeError("operation failed due to a previous error during capture")
    except RuntimeError as error:
        assert out_of_memory(error)


def test_places_on_every_axis():
    found = {(axis, value): (lanes, config) for axis, value, lanes, config in scaling.points(RunConfig(), "cuda")}
    assert [value for axis, value in found if axis == "lanes"] == [2**i for i in range(11)]
    assert found["lanes", 1024] == (1024, RunConfig())
    assert found["p", 257] == (64, RunConfig(task=Modular(p=257)))
    assert found["d", 512] == (64, RunConfig(model=Transformer(d=512, d_mlp=2048)))
    assert {value: config.task.shape.length for (axis, value), (_, config) in found.items() if axis == "T"} == {
        value: value for value in (4, 8, 16, 32, 64)
    }
    assert found["layers", 3] == (64, RunConfig(model=Transformer(layers=3, scope="causal")))
    few = [(axis, value, lanes) for axis, value, lanes, _ in scaling.points(RunConfig(), "cpu")]
    assert max(value for axis, value, _ in few if axis == "lanes") == 64
    assert {lanes for axis, _, lanes in few if axis != "lanes"} == {1}


def test_scaling_times_shared_points_once_and_leaves_long_ones_out(monkeypatch):
    timed = []
    monkeypatch.setattr(scaling, "AXES", {"lanes": (1, 2), "d": (8, 1024)})
    monkeypatch.setattr(scaling, "square_rate", lambda *_: 1e9)
    answer = {"run_steps_per_s": 1.0, "limit": 2.0, "note": ""}
    monkeypatch.setattr(
        scaling, "_timed", lambda config, cost, lanes, *_: timed.append((lanes, config.model.d)) or answer
    )
    config = replace(TINY, model=Transformer(d=8, d_mlp=32))
    rows = list(scaling.scaling(config, CPU, seconds=0.1))
    assert timed == [(1, 8), (2, 8)]
    assert [(row["axis"], row["value"], row["run_steps_per_s"]) for row in rows] == [
        ("lanes", 1, 1.0),
        ("lanes", 2, 1.0),
        ("d", 8, 1.0),
        ("d", 1024, None),
    ]
    assert rows[-1]["note"].startswith("skipped: an epoch would take about ")


def test_nothing_is_timed_beside_another_network(monkeypatch):
    def differ(*_):
        raise DifferentNetworkError("the losses differ")

    monkeypatch.setattr(measure, "check_same_network", differ)
    monkeypatch.setattr(measure, "timed", lambda *_: pytest.fail("timed"))
    with pytest.raises(DifferentNetworkError):
        measure.bench(TINY, [1], CPU, seconds=0.01)


def test_counts_are_those_of_the_traced_step():
    cost = step_cost(TINY)
    counted = measure.counts(TINY, cost)
    assert counted["multiply_adds"] == cost.multiply_adds
    assert counted["bytes"] == sum(counted["bytes_by_kind"].values())


@pytest.mark.parametrize("other", [{"heads": 2}, {"norm": "mlp"}, {"layers": 2, "scope": "causal"}])
def test_any_network_can_be_timed(monkeypatch, other):
    for module in (fleet, ceilings):
        monkeypatch.setattr(module, "WINDOW", 0.001)
    monkeypatch.setattr(measure, "square_rate", lambda *_: 1e9)
    monkeypatch.setattr(measure, "copy_rate", lambda *_: 1e9)
    monkeypatch.setattr(measure, "ROUNDS", 1)
    config = replace(TINY, model=replace(TINY.model, **other), batch_size=4)
    result = measure.bench(config, [1], CPU, seconds=0.01)
    assert result["plain_loop"] == "nn.Module" and result["fleet"][0]["ratio"] > 0


def test_a_short_measurement_ends_in_time(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr("grokscope.bench.fleet.time.perf_counter", lambda: clock[0])

    def call():
        calls.append(1)
        clock[0] += 0.001

    assert fastest_window(call, 0.01, CPU) == pytest.approx(0.001)
    assert len(calls) == 2 + 10  # two to know how long one takes
