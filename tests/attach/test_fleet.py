"""Fleets of a plain nn.Module: equal to training it alone, with the diagnostics of a scope."""

from dataclasses import replace

import networks
import pytest
import torch
import torch.nn.functional as F
from networks import D, Encoder, MinGPT
from torch import nn

import grokscope
from grokscope.attach.fleet import model_from
from grokscope.config import Log, RunConfig
from grokscope.errors import ConfigError, GrokscopeError
from grokscope.fleet.data import lane_data
from grokscope.fleet.guard import no_global_randomness
from grokscope.fleet.program import Program
from grokscope.fleet.start import initial_weights
from grokscope.models import models
from grokscope.optim.adamw import AdamW
from grokscope.optim.sgd import SGD
from grokscope.priors.kl import KL
from grokscope.store import read_checkpoint
from grokscope.tasks.modular import Modular

CPU = torch.device("cpu")
TASK = Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6)
LINES = """
import torch
from torch import nn
import torch.nn.functional as F

class Part(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        return F.scaled_dot_product_attention(*self.qkv(x).chunk(3, -1))

class MyNet(nn.Module):
    \"\"\"One head.\"\"\"

    def __init__(self, vocabulary, classes, d=8, depth=1):
        super().__init__()
        self.embed, self.parts = nn.Embedding(vocabulary, d), nn.ModuleList(Part(d) for _ in range(depth))
        self.head = nn.Linear(d, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        for part in self.parts:
            x = x + part(x)
        return self.head(x[:, -1])
"""


@pytest.fixture(autouse=True)
def sizes(monkeypatch):
    """Networks for the symbols of the task; what a test registers is forgotten."""
    monkeypatch.setattr(networks, "SYMBOLS", TASK.shape.vocabulary)
    before = dict(models.entries())
    yield
    models._entries.clear()
    models._entries.update(before)


def config(**how):
    base = RunConfig(task=TASK, optim=AdamW(lr=1e-2), prior=KL(beta=0.1), epochs=12, log=Log(every=4))
    return replace(base, **how)


def with_model(build, **how):
    return replace(config(**how), model=model_from(build, TASK.shape)).check()


@pytest.mark.parametrize("build", [MinGPT, Encoder], ids=["sdpa", "encoder"])
def test_a_run_equals_training_the_module_alone(build, tmp_path):
    """With SGD: AdamW divides gradients that are 0, such as those of key biases, by their rounding."""
    sgd = SGD(lr=0.1, momentum=0.0, weight_decay=0.0)
    own = with_model(build, optim=sgd)
    runs = grokscope.train(config(optim=sgd), model=build, seeds=[0, 3], runs=tmp_path, device="cpu")
    assert [run.status for run in runs] == ["done", "done"]
    for run, seed in zip(runs, (0, 3), strict=True):
        module = build()
        module.load_state_dict(initial_weights(replace(own, seed=seed)), strict=False)
        train, _ = TASK.split(seed)
        settings = own.optim
        optimizer = torch.optim.SGD(module.parameters(), settings.lr)
        with grokscope.watch(module, informative=train.informative, layers=-1) as scope:
            for step in range(12):
                optimizer.param_groups[0]["lr"] = float(settings.rate(torch.tensor(step + 1.0), torch.tensor(12.0)))
                loss = F.cross_entropy(module(train.inputs)[:, -1], train.labels) + scope.prior(0.1)
                loss.backward()
                if settings.clip:
                    nn.utils.clip_grad_norm_(module.parameters(), settings.clip)
                optimizer.step()
                optimizer.zero_grad()
        stored = {
            name.removeprefix("weight/"): tensor
            for name, tensor in read_checkpoint(run).tensors.items()
            if name.startswith("weight/")
        }
        torch.testing.assert_close(stored, dict(module.named_parameters()), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("build", [lambda: MinGPT(1), MinGPT, Encoder], ids=["one-layer", "sdpa", "encoder"])
def test_diagnostics_are_those_of_a_scope(build):
    own = with_model(build, prior=KL(beta=0.1))
    program = Program(own, 1, CPU)
    program.load(0, own, lane_data(own))
    found = {name: values[0] for name, values in program.evaluate().items()}
    module = build()
    module.load_state_dict(initial_weights(own), strict=False)
    train, test = TASK.split(0)
    with grokscope.watch(module, informative=train.informative, layers=-1, every=1) as scope:
        loss = F.cross_entropy(module(train.inputs)[:, -1], train.labels)
        loss.backward()
        row = scope.step(loss=loss)
    for name in ("train_loss", "grad_logit", "grad_M", "l2", "mlp_norm"):
        assert found[name] == pytest.approx(row[name], rel=1e-4), name
    with torch.no_grad(), grokscope.watch(module, informative=test.informative, layers=-1) as scope:
        answers = module(test.inputs)[:, -1]
        assert found["D"] == pytest.approx(scope.D, rel=1e-4)
        assert found["mass_mean"] == pytest.approx(scope.mass, rel=1e-4)
    assert found["test_loss"] == pytest.approx(F.cross_entropy(answers, test.labels).item(), rel=1e-5)


@pytest.mark.parametrize("build", [MinGPT, Encoder], ids=["sdpa", "encoder"])
def test_lanes_side_by_side_equal_each_alone(build):
    """Under vmap, as on a GPU."""
    sgd = SGD(lr=0.1, momentum=0.0, weight_decay=0.0)
    configs = [replace(with_model(build, optim=sgd), seed=seed) for seed in (0, 1)]
    together = Program(configs[0], 2, CPU)
    for lane, own in enumerate(configs):
        together.load(lane, own, lane_data(own))
    for _ in range(3):
        together.train_epoch()
    table = together.evaluate()
    for lane, own in enumerate(configs):
        alone = Program(own, 1, CPU)
        alone.load(0, own, lane_data(own))
        for _ in range(3):
            alone.train_epoch()
        torch.testing.assert_close(together.flat[lane], alone.flat[0], rtol=1e-4, atol=1e-6)
        expected = alone.evaluate()
        for name in ("train_loss", "D", "grad_logit", "grad_M"):
            assert table[name][lane] == pytest.approx(expected[name][0], rel=1e-3), name


def test_a_run_is_stored_resumed_and_reported(tmp_path, run):
    grokscope.train(config(epochs=8), model=MinGPT, runs=tmp_path / "a", device="cpu")
    (continued,) = grokscope.train(config(epochs=12), model=MinGPT, runs=tmp_path / "a", device="cpu")
    (whole,) = grokscope.train(config(epochs=12), model=MinGPT, runs=tmp_path / "b", device="cpu")
    assert continued.id == whole.id and continued.epoch == 12
    one, two = read_checkpoint(continued).tensors, read_checkpoint(whole).tensors
    assert all(torch.equal(one[name], two[name]) for name in two)
    code, _, err = run("report", "--runs", tmp_path / "b", "-o", tmp_path / "page.html")
    assert code == 0, err
    assert "<figure" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_other_code_is_another_run():
    ids = {with_model(build).id for build in (MinGPT, lambda: MinGPT(1), Encoder)}
    assert len(ids) == 3 and with_model(MinGPT).id in ids


class Dropping(MinGPT):
    def __init__(self):
        super().__init__(1)
        self.drop = nn.Dropout(0.5)

    def forward(self, tokens):
        return self.head(self.drop(self.blocks[0](self.embed(tokens) + self.places)))


def test_dropout_draws_from_the_run(tmp_path):
    states = torch.random.get_rng_state()
    runs = [grokscope.train(config(), model=Dropping, runs=tmp_path / name, device="cpu")[0] for name in ("a", "b")]
    one, two = (read_checkpoint(run).tensors for run in runs)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert torch.equal(torch.random.get_rng_state(), states)
    plain = with_model(lambda: MinGPT(1))
    assert not torch.equal(one["weight/head.weight"], initial_weights(plain)["head.weight"])


def refused(build, *words, **how):
    with pytest.raises(GrokscopeError) as caught:
        with_model(build, **how)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_what_a_fleet_cannot_train():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm, self.head = nn.Embedding(12, D), nn.BatchNorm1d(D), nn.Linear(D, 7)

        def forward(self, tokens):
            return self.head(self.norm(self.embed(tokens)[:, -1]))

    refused(Counting, "norm.running_mean", "forward pass")
    refused(lambda: MinGPT(dropout=0.1), "attention dropout")
    refused(lambda: MinGPT().double(), "float64", "float32")
    refused(lambda: 3, "int", "nn.Module")
    refused(lambda width: MinGPT(), "width")
    refused(nn.Identity, "no trainable weights")


def test_control_flow_that_depends_on_data_trains_alone_only():
    class Choosing(MinGPT):
        def forward(self, tokens):
            out = super().forward(tokens)
            return out if out.sum() > 0 else 2 * out

    own = with_model(Choosing)
    alone = Program(own, 1, CPU)
    alone.load(0, own, lane_data(own))
    alone.train_epoch()
    both = Program(own, 2, CPU)
    for lane in range(2):
        both.load(lane, own, lane_data(own))
    with pytest.raises(ConfigError, match="cannot train as one program: its control flow depends on data; use lanes=1"):
        both.train_epoch()


def test_attention_cannot_be_frozen(tmp_path):
    frozen = replace(config(), constraint=replace(config().constraint, attention="uniform"))
    with pytest.raises(GrokscopeError, match="cannot be frozen"):
        grokscope.train(frozen, model=MinGPT, runs=tmp_path, device="cpu")


def test_a_module_without_attention(tmp_path):
    def build():
        return nn.Sequential(nn.Embedding(12, 8), nn.Flatten(), nn.Linear(40, 7))

    (run,) = grokscope.train(config(prior=KL(beta=0.0)), model=build, runs=tmp_path, device="cpu")
    table = grokscope.load_runs(tmp_path)
    assert run.status == "done" and "D" not in table and table["train_loss"].iloc[-1] < table["train_loss"].iloc[0]
    with pytest.raises(ConfigError, match="no attention to guide"):
        grokscope.train(config(), model=build, runs=tmp_path, device="cpu")


def test_a_file_with_a_plain_module(run, tmp_path):
    (tmp_path / "my_model.py").write_text(LINES, encoding="utf-8")
    small = ("--set", "epochs=8", "--set", "log.every=4", "--set", "task.p=5", "--device", "cpu", "--quiet")
    load = ("--load", tmp_path / "my_model.py")
    code, _, err = run(*load, "train", "--model", "MyNet", "--set", "model.d=16", "--seeds", 2, *small)
    assert code == 0, err
    table = grokscope.load_runs(tmp_path / "runs")
    assert set(table["model.kind"]) == {"MyNet"} and set(table["model.d"]) == {16} and table["D"].notna().all()
    code, out, _ = run(*load, "list", "models", "MyNet")
    assert code == 0 and "One head." in out and "model.d" in out and "model.depth" in out
    code, _, err = run(*load, "train", "--model", "Part", *small)
    assert code == 2 and "no model is called 'Part'" in err
    code, _, err = run("report", "--runs", tmp_path / "runs", "-o", tmp_path / "page.html")
    assert code == 0


def test_attention_kernels_draw_only_for_dropout():
    q = torch.randn(1, 2, 3, 4, generator=torch.Generator().manual_seed(0))
    with no_global_randomness():
        F.scaled_dot_product_attention(q, q, q)
        with pytest.raises(ConfigError, match="global generator"):
            F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
