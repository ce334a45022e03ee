"""Hugging Face Trainer and Lightning: the rows are those of a loop written by hand."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from networks import SYMBOLS, MinGPT, batch, build

import grokscope
from grokscope.errors import ConfigError

MASK = torch.tensor([True, True, False, False, False])
SAME = ("epoch", "D", "mass_mean", "grad_logit", "grad_M", "train_loss", "prior_loss", "l2", "test_accuracy")


def by_hand(model, call, beta, steps=4):
    tokens, labels = batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with grokscope.watch(model, informative=MASK, every=2) as scope:
        for _ in range(steps):
            loss = F.cross_entropy(call(tokens), labels) + scope.prior(beta)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scope.step(loss, test_accuracy=0.5)
    return scope.rows


def equal(rows, expected):
    assert len(rows) == len(expected) == 2
    for one, two in zip(rows, expected, strict=True):
        assert [one[name] for name in SAME] == pytest.approx([two[name] for name in SAME], rel=1e-4)


def arguments(folder, **how):
    transformers = pytest.importorskip("transformers", reason="needs grokscope[hf]")
    pytest.importorskip("accelerate", reason="needs grokscope[hf]")
    given = {
        "max_steps": 4,
        "per_device_train_batch_size": 6,
        "learning_rate": 0.1,
        "optim": "sgd",
        "lr_scheduler_type": "constant",
        "max_grad_norm": 0.0,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "dataloader_pin_memory": False,
        "disable_tqdm": True,
    }
    return transformers.TrainingArguments(str(folder), **given | how)


def examples():
    tokens, labels = batch()
    return [{"input_ids": one, "labels": label} for one, label in zip(tokens, labels, strict=True)]


def at_the_query(outputs, labels, num_items_in_batch=None):
    return F.cross_entropy(outputs.logits[:, -1], labels)


@pytest.mark.parametrize("beta", [0.0, 0.4])
def test_trainer(beta, tmp_path):
    own = arguments(tmp_path)
    from transformers import Trainer

    from grokscope.attach.trainer import TrainerGuide

    network = build("gpt2-sdpa")
    expected = by_hand(network.model.train(), lambda tokens: network(tokens)[:, -1], beta)
    model = build("gpt2-sdpa").model
    scope = grokscope.watch(model, informative=MASK, every=2)
    guide = TrainerGuide(scope, beta=beta, loss=at_the_query, evaluate=lambda: {"test_accuracy": 0.5})
    Trainer(model, own, train_dataset=examples(), compute_loss_func=guide.loss, callbacks=[guide]).train()
    equal(scope.rows, expected)
    assert not scope.is_open and not model._forward_hooks


def test_trainer_with_the_loss_of_the_model(tmp_path):
    """Labels at every position, as causal language models take them; evaluation has no prior."""
    own = arguments(tmp_path)
    from transformers import Trainer

    from grokscope.attach.trainer import TrainerGuide

    tokens, _ = batch()
    data = [{"input_ids": one, "labels": one} for one in tokens]
    plain, guided = (build("gpt2-sdpa").model for _ in range(2))
    Trainer(plain, own, train_dataset=data).train()
    with grokscope.watch(guided, informative=MASK, every=2) as scope:
        guide = TrainerGuide(scope)
        trainer = Trainer(
            guided, own, train_dataset=data, eval_dataset=data, compute_loss_func=guide.loss, callbacks=[guide]
        )
        trainer.train()
        evaluated = trainer.evaluate()["eval_loss"]
    torch.testing.assert_close(dict(plain.named_parameters()), dict(guided.named_parameters()))
    assert evaluated == pytest.approx(Trainer(plain, own, eval_dataset=data).evaluate()["eval_loss"], rel=1e-4)
    assert len(scope.rows) == 2


@pytest.mark.parametrize("how", [{"gradient_accumulation_steps": 2}], ids=lambda how: next(iter(how)))
def test_trainer_settings_that_would_give_wrong_numbers(how, tmp_path):
    own = arguments(tmp_path, **how)
    from transformers import Trainer

    from grokscope.attach.trainer import TrainerGuide

    model = build("gpt2-sdpa").model
    with grokscope.watch(model, informative=MASK) as scope:
        guide = TrainerGuide(scope, loss=at_the_query)
        trainer = Trainer(model, own, train_dataset=examples(), compute_loss_func=guide.loss, callbacks=[guide])
        with pytest.raises(ConfigError, match=next(iter(how))):
            trainer.train()


def lightning_module(beta):
    lightning = pytest.importorskip("lightning", reason="needs grokscope[lightning]")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.net = MinGPT()
            self.watch = [grokscope.watch(self.net, informative=MASK, every=2)]

        def training_step(self, both, number):
            if beta is None:
                raise ZeroDivisionError
            return F.cross_entropy(self.net(both[0])[:, -1], both[1]) + self.watch[0].prior(beta)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return lightning, Module()


def fit(lightning, module, **how):
    from torch.utils.data import DataLoader, TensorDataset

    from grokscope.attach.lightning import LightningGuide

    guide = LightningGuide(module.watch[0], lambda: {"test_accuracy": 0.5})
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(max_steps=4, accelerator="cpu", callbacks=[guide], max_epochs=-1, **quiet, **how)
    trainer.fit(module, DataLoader(TensorDataset(*batch()), batch_size=6))


@pytest.mark.filterwarnings("ignore")  # Lightning's own
@pytest.mark.parametrize("beta", [0.0, 0.4])
def test_lightning(beta):
    lightning, module = lightning_module(beta)
    network = build("sdpa").model
    expected = by_hand(network, lambda tokens: network(tokens)[:, -1], beta)
    fit(lightning, module)
    equal(module.watch[0].rows, expected)
    assert not module.watch[0].is_open and not module.net._forward_hooks


@pytest.mark.filterwarnings("ignore")
def test_an_error_in_lightning_closes_the_scope():
    lightning, module = lightning_module(None)
    with pytest.raises(ZeroDivisionError):
        fit(lightning, module)
    assert not module.watch[0].is_open and not module.net._forward_hooks


@pytest.mark.filterwarnings("ignore")
def test_lightning_settings_that_would_give_wrong_numbers():
    lightning, module = lightning_module(0.0)
    with pytest.raises(ConfigError, match="accumulate_grad_batches"):
        fit(lightning, module, accumulate_grad_batches=2)


@pytest.mark.parametrize(("file", "package", "extra"), [("trainer", "transformers", "hf"), ("lightning",) * 3])
def test_a_missing_package_is_one_line_with_the_command(file, package, extra):
    code = f"import sys; sys.modules['{package}'] = None; import grokscope.attach.{file}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    line = done.stderr.splitlines()[-1]
    assert line.endswith(f"{package} is not installed: pip install 'grokscope[{extra}]'")


def test_a_model_saved_inside_loads_without_a_scope(tmp_path):
    """A checkpoint that Trainer writes must not ask for our attention."""
    network = build("gpt2-sdpa")
    with grokscope.watch(network.model, informative=MASK):
        network.model.save_pretrained(tmp_path)
    assert "grokscope" not in (tmp_path / "config.json").read_text(encoding="utf-8")
    loaded = type(network.model).from_pretrained(tmp_path)
    torch.testing.assert_close(loaded(batch()[0]).logits, network.model(batch()[0]).logits)


@pytest.mark.parametrize("name", ["gpt2-sdpa", "llama-eager"])
def test_generation_is_unchanged(name):
    model = build(name).model.eval()
    tokens = batch()[0][:, :3] % (SYMBOLS - 1) + 1
    how = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    plain = model.generate(tokens, **how)
    with grokscope.watch(model, informative=[1, 2]) as scope:
        torch.testing.assert_close(model.generate(tokens, **how), plain)
        assert scope.attention.shape[-1] == 5  # of the last token, over what was cached
