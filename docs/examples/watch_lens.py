"""TransformerLens, from a config: modular addition among distractors, with and without the prior."""

import torch
import torch.nn.functional as F
from transformer_lens.config import TransformerBridgeConfig
from transformer_lens.model_bridge import TransformerBridge

import grokscope
from grokscope.tasks.modular import Modular

seen, unseen = Modular(p=23, distractors=2, alphabet=8, train_fraction=0.8).split(0)
config = TransformerBridgeConfig(
    d_model=48, d_head=24, n_heads=2, n_layers=1, n_ctx=5, d_vocab=32, act_fn="relu", d_mlp=192
)
config.normalization_type, config.seed = None, 0


def accuracy(model, side):
    with torch.no_grad():
        return (model(side.inputs)[:, -1].argmax(-1) == side.labels).float().mean()


def train(beta):
    model = TransformerBridge.boot_native(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=1.0, betas=(0.9, 0.98))
    with grokscope.watch(model, informative=seen.informative[0], to="runs/lens", name="lens") as scope:
        for _ in range(250):
            loss = F.cross_entropy(model(seen.inputs)[:, -1], seen.labels) + scope.prior(beta)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scope.step(
                loss, train_accuracy=lambda: accuracy(model, seen), test_accuracy=lambda: accuracy(model, unseen)
            )
    return scope


train(beta=0.0)
train(beta=1.0).report("lens.html", everything=True)
