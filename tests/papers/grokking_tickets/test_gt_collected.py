"""What is found when results are collected, on small runs that were really trained."""

import pytest

from grokscope.config import Log, RunConfig, Stop
from grokscope.errors import ConfigError
from grokscope.experiments import collected
from grokscope.experiments.base import Experiment
from grokscope.experiments.collect import run_rows
from grokscope.launch.local import train_all
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.optim.adamw import AdamW
from grokscope.papers.grokking_tickets import collected as gt_collected
from grokscope.priors.kl import KL
from grokscope.store import read_metrics
from grokscope.tasks.modular import Modular

NAMES = ("t_loss_10", "l1_end", "l2_end", "fourier_start", "fourier_end", "origin_accuracy", "test_seen")
BASE = RunConfig(
    task=Modular(p=11, pairs="unordered", distractors=0, train_fraction=0.5),
    model=EmbeddingMLP(d=12, d_mlp=8),
    optim=AdamW(lr=1e-2, warmup=0.0, clip=0.0),
    prior=KL(beta=0.0),
    epochs=20,
    log=Log(every=5, keep=10),
    stop=Stop(accuracy=0.0),
)
TICKET = {"ticket.kind": "transplant", "ticket.epoch": 10}
TOY = Experiment(
    name="toy",
    paper="grokking-tickets",
    title="",
    question="",
    base=BASE,
    arms={
        "dense": {},
        "own": {**TICKET, "ticket.run": "@dense"},
        "other": {**TICKET, "ticket.run": "@@dense"},
        "last": {"ticket.kind": "magnitude", "ticket.run": "@dense"},
    },
    seeds=3,
    claims=[],
    pictures={},
    collected=NAMES,
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    asked = TOY.configs("full")
    folder = tmp_path_factory.mktemp("runs")
    stored = {run.id: run for run in train_all([c for arm, c in asked if arm == "dense"], runs=folder)}
    stored |= {run.id: run for run in train_all([c for arm, c in asked if arm != "dense"], runs=folder)}
    own = [stored[config.id] for _, config in asked]
    rows, _ = run_rows(own, [arm for arm, _ in asked], collected=NAMES)
    return rows.set_index(["arm", "seed"]), stored


def test_another_s_run_is_that_of_the_next_seed():
    runs = {(arm, config.seed): config for arm, config in TOY.configs("full")}
    for seed in range(3):
        assert runs["own", seed].ticket.run == runs["dense", seed].id
        assert runs["other", seed].ticket.run == runs["dense", (seed + 1) % 3].id
    with pytest.raises(ConfigError, match=r"ticket\.run: @@dense needs two seeds"):
        TOY.configs("full", seeds=1)


def test_share_of_test_pairs_that_were_trained_on(table):
    rows, _ = table
    assert rows.loc["own", "test_seen"].tolist() == [0.0] * 3
    assert rows.loc["dense", "test_seen"].isna().all()
    for seed in range(3):
        mine, other = (BASE.task.split(s) for s in (seed, (seed + 1) % 3))
        known = set(map(tuple, other.train.inputs.tolist()))
        seen = [tuple(row) in known for row in mine.test.inputs.tolist()]
        assert rows.loc[("other", seed), "test_seen"] == pytest.approx(sum(seen) / len(seen))
        assert 0.2 < sum(seen) / len(seen) < 0.8


def test_accuracy_of_the_run_that_a_ticket_comes_from(table):
    rows, stored = table
    for seed in range(3):
        metrics = read_metrics(stored[rows.loc[("dense", seed), "run"]]).to_pandas().set_index("epoch")
        assert rows.loc[("own", seed), "origin_accuracy"] == metrics.loc[10, "test_accuracy"]
        assert rows.loc[("last", seed), "origin_accuracy"] == metrics.loc[20, "test_accuracy"]


def test_numbers_at_the_first_and_the_last_epoch(table):
    rows, stored = table
    metrics = read_metrics(stored[rows.loc[("dense", 0), "run"]]).to_pandas()
    first, last = metrics.iloc[0], metrics.iloc[-1]
    found = rows.loc[("dense", 0)]
    assert (found["l1_end"], found["l2_end"]) == (last["l1"], last["l2"])
    assert (found["fourier_start"], found["fourier_end"]) == (first["fourier_entropy_in"], last["fourier_entropy_in"])


def test_loss_and_early_entropy_are_those_of_their_epoch(table):
    rows, stored = table
    info = stored[rows.loc[("dense", 0), "run"]]
    metrics = read_metrics(info).to_pandas().assign(test_loss=[3.0, 2.0, 0.1, 0.2, 0.05])
    run = collected.Finished(info, metrics, {})
    assert gt_collected.loss_fell(run) == 10
    assert gt_collected.loss_fell(run._replace(metrics=metrics.assign(test_loss=1.0))) is None
    assert gt_collected.fourier_early(run) is None, "no evaluation at epoch 200"
    later = metrics.assign(epoch=[0, 100, 200, 300, 400])
    assert gt_collected.fourier_early(run._replace(metrics=later)) == metrics["fourier_entropy_in"].iloc[2]


def test_names_are_checked():
    with pytest.raises(ConfigError, match=r"none is called 't_lost_10'.*t_loss_10"):
        collected.collect_named(("t_lost_10",), None)
    with pytest.raises(ConfigError, match="registered twice"):
        collected.collected("test_seen")(lambda run: 0.0)
