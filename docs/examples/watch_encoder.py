"""nn.TransformerEncoder: modular addition among distractors, with and without the prior."""

import torch
import torch.nn.functional as F
from torch import nn

import grokscope
from grokscope.tasks.modular import Modular

seen, unseen = Modular(p=23, distractors=2, alphabet=8, train_fraction=0.8).split(0)


class Net(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.embed, self.places = nn.Embedding(32, d), nn.Parameter(torch.randn(5, d) / 2)
        layer = nn.TransformerEncoderLayer(d, 2, 4 * d, 0.0, batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Linear(d, 23)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens) + self.places)[:, -1])


def train(beta):
    torch.manual_seed(0)
    net = Net()
    score = lambda side: (net(side.inputs).argmax(-1) == side.labels).float().mean()  # noqa: E731
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=1.0, betas=(0.9, 0.98))
    with grokscope.watch(net, informative=seen.informative[0], to="runs/encoder", name="encoder") as scope:
        for _ in range(250):
            loss = F.cross_entropy(net(seen.inputs), seen.labels) + scope.prior(beta)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scope.step(loss, train_accuracy=lambda: score(seen), test_accuracy=lambda: score(unseen))
    return scope


train(beta=0.0)
train(beta=1.0).report("encoder.html", everything=True)
