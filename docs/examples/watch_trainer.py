"""Hugging Face Trainer: modular addition among distractors, with and without the prior."""

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import grokscope
from grokscope.attach.trainer import TrainerGuide
from grokscope.tasks.modular import Modular

seen, unseen = Modular(p=23, distractors=2, alphabet=8, train_fraction=0.8).split(0)
config = GPT2Config(vocab_size=32, n_positions=5, n_embd=48, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
config.attn_pdrop = config.embd_pdrop = config.resid_pdrop = 0.0
examples = [{"input_ids": tokens, "labels": label} for tokens, label in zip(seen.inputs, seen.labels, strict=True)]
arguments = TrainingArguments(
    "trainer", max_steps=250, per_device_train_batch_size=len(examples), learning_rate=0.003, weight_decay=1.0,
    adam_beta2=0.98, max_grad_norm=0.0, lr_scheduler_type="constant", save_strategy="no", use_cpu=True, report_to="none",
    dataloader_pin_memory=False,
)  # fmt: skip


def accuracy(model, side):
    with torch.no_grad():
        return (model(input_ids=side.inputs).logits[:, -1].argmax(-1) == side.labels).float().mean()


def train(beta):
    torch.manual_seed(0)
    model = GPT2LMHeadModel(config)
    with grokscope.watch(model, informative=seen.informative[0], to="runs/trainer", name="trainer") as scope:
        loss = lambda outputs, labels, **rest: F.cross_entropy(outputs.logits[:, -1], labels)  # noqa: E731
        evaluate = lambda: {"train_accuracy": accuracy(model, seen), "test_accuracy": accuracy(model, unseen)}  # noqa: E731
        guide = TrainerGuide(scope, beta=beta, loss=loss, evaluate=evaluate)
        Trainer(model, arguments, train_dataset=examples, compute_loss_func=guide.loss, callbacks=[guide]).train()
    return scope


train(beta=0.0)
train(beta=1.0).report("trainer.html", everything=True)
