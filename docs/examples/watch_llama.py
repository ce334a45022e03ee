"""A Llama-style model of Hugging Face, from a config: modular addition among distractors, with and without the prior."""

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

import grokscope
from grokscope.tasks.modular import Modular

seen, unseen = Modular(p=23, distractors=2, alphabet=8, train_fraction=0.8).split(0)
config = LlamaConfig(vocab_size=32, hidden_size=48, intermediate_size=96, num_hidden_layers=1, num_attention_heads=2)


def accuracy(model, side):
    with torch.no_grad():
        return (model(input_ids=side.inputs).logits[:, -1].argmax(-1) == side.labels).float().mean()


def train(beta):
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=1.0, betas=(0.9, 0.98))
    with grokscope.watch(model, informative=seen.informative[0], to="runs/llama", name="llama") as scope:
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
train(beta=1.0).report("llama.html", everything=True)
