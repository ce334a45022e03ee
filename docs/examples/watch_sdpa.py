"""A network that calls scaled_dot_product_attention: modular addition among distractors, with and without the prior."""

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
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp, self.head = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d)), nn.Linear(d, 23)

    def forward(self, tokens):
        x = self.embed(tokens) + self.places
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return self.head(x + self.mlp(x))[:, -1]


for beta in (0.0, 1.0):
    torch.manual_seed(0)
    net = Net()
    score = lambda side, net=net: (net(side.inputs).argmax(-1) == side.labels).float().mean()  # noqa: E731
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=1.0, betas=(0.9, 0.98))
    with grokscope.watch(net, informative=seen.informative[0], to="runs/sdpa", name="sdpa") as scope:
        for _ in range(250):
            loss = F.cross_entropy(net(seen.inputs), seen.labels) + scope.prior(beta)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scope.step(loss, train_accuracy=lambda: score(seen), test_accuracy=lambda: score(unseen))  # noqa: B023
scope.report("sdpa.html", everything=True)
