"""Examples that are set aside: the same ones, never trained on, never tested on, and out of every id by default."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.fleet.data import known_examples, lane_data
from grokscope.fleet.stopping import StopRule
from grokscope.launch.local import train_all
from grokscope.measures.validation import calibrated_losses
from grokscope.optim.noise import Noise
from grokscope.store import read_metrics
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity

TASK = Modular(p=11, distractors=2, train_fraction=0.6)
PARTS = {"validation": 0.2, "confirmation": 0.1}


def rows(examples):
    return [tuple(row) for row in examples.inputs.tolist()]


@pytest.mark.parametrize("task", [TASK, Parity(n=8, k=2, train_fraction=0.5)])
def test_the_training_set_is_divided_and_the_test_set_stays(task):
    whole, divided = task.split(3), replace(task, **PARTS)
    split, aside = divided.split(3), divided.set_aside(3)
    assert rows(split.train) + rows(aside.validation) + rows(aside.confirmation) == rows(whole.train)
    assert rows(split.test) == rows(whole.test)
    count = len(whole.train.labels)
    assert len(aside.validation.labels) == int(0.2 * count) == divided.shape.validation_size
    assert len(aside.confirmation.labels) == int(0.1 * count)
    assert len(split.train.labels) == divided.shape.train_size
    assert all(part is None for part in task.set_aside(3))


def test_settings_stay_out_of_the_id_until_they_are_used():
    assert RunConfig(task=Modular(validation=0.0)).id == RunConfig().id
    assert len({RunConfig(task=replace(TASK, **{name: 0.1})).id for name in PARTS} | {RunConfig(task=TASK).id}) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation": 1.0}, "validation: 1.0 is outside [0, 1)"),
        ({"validation": 0.001}, "validation: 0.001 of 72 training examples leaves no example for validation"),
        ({"validation": 0.6, "confirmation": 0.5}, "validation: 0.6 and confirmation 0.5 leave no training example"),
    ],
)
def test_invalid_parts(settings, message):
    with pytest.raises(ConfigError) as error:
        replace(TASK, **settings).check()
    assert str(error.value) == message


def test_label_noise_reaches_the_examples_that_are_set_aside(tiny):
    config = replace(tiny, task=replace(TASK, **PARTS), noise=Noise(labels=1.0))
    seed = config.seed_for("data")
    train, validation, confirmation = known_examples(config, config.task.split(seed).train)
    plain = replace(config, task=TASK)
    whole, _, _ = known_examples(plain, plain.task.split(seed).train)
    assert torch.equal(torch.cat([train.labels, validation.labels, confirmation.labels]), whole.labels)
    assert not torch.equal(validation.labels, config.task.set_aside(seed).validation.labels)


def test_a_run_is_evaluated_on_validation_examples(tiny, tmp_path):
    (run,) = train_all([replace(tiny, task=replace(TASK, **PARTS))], runs=tmp_path, device="cpu")
    table = read_metrics(run).to_pandas()
    assert table[["val_loss", "val_accuracy", "val_calibrated_loss", "val_calibrated_error"]].notna().all().all()
    (plain,) = train_all([replace(tiny, task=TASK)], runs=tmp_path, device="cpu")
    assert not [name for name in read_metrics(plain).column_names if name.startswith("val_")]


def test_confirmation_examples_are_in_no_batch(tiny):
    config = replace(tiny, task=replace(TASK, **PARTS))
    batches = lane_data(config)
    assert len(batches) == 3
    hidden = set(rows(config.task.set_aside(config.seed_for("data")).confirmation))
    assert not hidden & {tuple(row) for batch in batches for row in batch["tokens"].tolist()}


def test_the_stop_rule_reads_validation_accuracy(tiny):
    rule = StopRule(tiny)
    row = {"epoch": 12, "train_loss": 0.1, "test_accuracy": 1.0}
    rule.status_of(row | {"epoch": 5, "val_accuracy": 0.2})
    assert rule.status_of(row | {"val_accuracy": 0.2}) == "done"
    rule = StopRule(tiny)
    rule.status_of(row | {"epoch": 5, "test_accuracy": 0.0, "val_accuracy": 1.0})
    assert rule.status_of(row | {"test_accuracy": 0.0, "val_accuracy": 1.0}) == "grokked"


def test_calibration_forgives_confidence_but_not_ignorance():
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(10, (400,), generator=generator)
    chance = torch.log(torch.tensor(10.0))
    guesses = torch.randint(10, (400,), generator=generator)
    ignorant = calibrated_losses(100.0 * torch.nn.functional.one_hot(guesses, 10), labels)
    assert ignorant.mean() == pytest.approx(float(chance), abs=0.02)
    assert ignorant.mean() <= chance + 1e-6
    partly = torch.where(torch.rand(400, generator=generator) < 0.3, labels, guesses)
    sure = 100.0 * torch.nn.functional.one_hot(partly, 10).float()
    assert torch.nn.functional.cross_entropy(sure, labels) > 10 * chance
    assert calibrated_losses(sure, labels).mean() < chance - 0.2
    known = torch.randn(400, 10, generator=generator) + 2.0 * torch.nn.functional.one_hot(labels, 10)
    assert calibrated_losses(known, labels).mean() <= torch.nn.functional.cross_entropy(known, labels) + 1e-6
