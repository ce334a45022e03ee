"""A tiny GPT-2 of Hugging Face, from a config: modular addition among distractors, with and without the prior."""

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

import grokscope
from grokscope.tasks.modular import Modular

seen, unseen = Modular(p=23, distractors=2, alphabet=8, train_fraction=0.8).split(0)
config = GPT2Config(vocab_size=32, n_positions=5, n_embd=48, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
config.attn_pdrop = config.embd_pdrop = config.resid_pdrop = 0.0


def accuracy(model, side):
    with torch.no_grad():
        return (model(input_ids=side.inputs).logits[:, -1].argmax(-1) == side.labels).float().mean()


def train(beta):
    torch.manual_seed(0)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=1.0, betas=(0.9, 0.98))
    with grokscope.watch(model, informative=seen.informative[0], to="runs/gpt2", name="gpt2") as scope:
        for _ in range(250):
            loss = F.cross_entropy(model(input_ids=seen.inputs).logits[:, -1], seen.labels) + scope.prior(beta)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scope.step(
                loss, train_accuracy=lambda: accuracy(model, seen), test_accuracy=lambda: accuracy(model, unseen)
            )
    return scope


train(beta=0.0)
train(beta=1.0).report("gpt2.html", everything=True)
