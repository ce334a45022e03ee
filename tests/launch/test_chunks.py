"""Plans: what is in a chunk, and that the numbers of a run do not depend on how a sweep was cut."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from grokscope.launch import train_all
from grokscope.launch.chunks import Chunk, chunk_size, cut
from grokscope.models.transformer import Transformer
from grokscope.priors.kl import KL
from grokscope.store import read_checkpoint, read_metrics
from grokscope.tickets.trained import Magnitude


@pytest.fixture
def sweep(tiny):
    """Two signatures, two values of β, three seeds."""
    return [
        replace(tiny, model=model, prior=KL(beta=beta), seed=seed)
        for model in (tiny.model, Transformer(d=12, d_mlp=16))
        for beta in (0.0, 0.3)
        for seed in range(3)
    ]


def bits(runs):
    """Every number of every run but the seconds. The order of columns is that in which measures were imported."""
    found = {}
    for run in runs:
        columns = {name: str(values) for name, values in read_metrics(run).to_pydict().items()}  # NaN equals NaN
        rows = {name: values for name, values in columns.items() if not name.startswith("seconds")}
        tensors = read_checkpoint(run).tensors
        found[run.id] = (rows, {name: t.numpy().tobytes() for name, t in tensors.items()})
    return found


def trained(chunks, runs):
    return [run for chunk in chunks for run in train_all(chunk.configs, runs=runs, device="cpu", lanes=chunk.lanes)]


@pytest.mark.parametrize("way", ["many chunks", "another order", "one run each", "processes"])
def test_the_numbers_do_not_depend_on_how_the_work_was_cut(sweep, tmp_path, way):
    whole = bits(trained([Chunk(configs=tuple(sweep))], tmp_path / "whole"))
    assert len(whole) == 12
    if way == "processes":
        options = {"local.processes": 2}
        other = train_all(sweep, runs=tmp_path / "cut", device="cpu", on="local", options=options)
    else:
        chunks = {
            "many chunks": cut(sweep, size=2),
            "another order": cut(sweep[::-1], size=4)[::-1],
            "one run each": cut(sweep, size=1, lanes=1),
        }[way]
        other = trained(chunks, tmp_path / "cut")
    assert bits(other) == whole


def test_chunks_hold_every_run_once_and_one_signature_each(sweep):
    chunks = cut(sweep, size=4)
    assert sorted(id for chunk in chunks for id in chunk.ids) == sorted(config.id for config in sweep)
    assert [len(chunk.configs) for chunk in chunks] == [4, 2, 4, 2]
    assert all(len({config.model for config in chunk.configs}) == 1 for chunk in chunks)
    assert pickle.loads(pickle.dumps(chunks)) == chunks


def test_runs_that_others_refer_to_come_first(tiny):
    dense = [replace(tiny, seed=seed) for seed in range(3)]
    tickets = [replace(one, ticket=Magnitude(run=one.id, rate=0.5)) for one in dense]
    taught = [replace(tiny, prior=KL(target="teacher", teacher=tickets[0].id, beta=0.1), seed=9)]
    chunks = cut([*taught, *tickets, *dense], size=2)
    assert [(chunk.stage, chunk.after) for chunk in cut([*dense, *tickets, *taught], size=2)] == [
        (0, ()),
        (0, ()),
        (1, (0,)),
        (1, (1,)),
        (2, (2,)),
    ]
    assert {id for chunk in chunks for id in chunk.ids} == {config.id for config in [*dense, *tickets, *taught]}


def test_a_ticket_and_its_origin_can_be_trained_by_one_call(tiny, tmp_path):
    dense = [replace(tiny, seed=seed) for seed in range(2)]
    tickets = [replace(one, ticket=Magnitude(run=one.id, rate=0.5)) for one in dense]
    here = train_all([*tickets, *dense], runs=tmp_path / "here", device="cpu")
    there = train_all([*tickets, *dense], runs=tmp_path / "there", device="cpu", options={"local.devices": "cpu,cpu"})
    assert [run.status for run in here] == ["done"] * 4
    assert bits(here) == bits(there)


@pytest.mark.parametrize(
    ("runs", "slots", "gpu", "size"),
    [(40, 2, False, 10), (1, 8, False, 1), (40, 8, True, 16), (4000, 8, True, 500), (100_000, 64, True, 512)],
)
def test_chunk_size(runs, slots, gpu, size):
    assert chunk_size(runs, slots, gpu=gpu) == size
