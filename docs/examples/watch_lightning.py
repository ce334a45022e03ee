"""Lightning: modular addition among distractors, with and without the prior."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import grokscope
from grokscope.attach.lightning import LightningGuide
from grokscope.tasks.modular import Modular

seen, unseen = Modular(p=23, distractors=2, alphabet=8, train_fraction=0.8).split(0)


class Net(lightning.LightningModule):
    def __init__(self, beta, d=48):
        super().__init__()
        self.embed, self.places, self.beta = nn.Embedding(32, d), nn.Parameter(torch.randn(5, d) / 2), beta
        self.layer, self.head = nn.TransformerEncoderLayer(d, 2, 4 * d, 0.0, batch_first=True), nn.Linear(d, 23)
        self.scope = grokscope.watch(self, informative=seen.informative[0], to="runs/lightning", name="lightning")

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens) + self.places)[:, -1])

    def training_step(self, batch, number):
        return nn.functional.cross_entropy(self(batch[0]), batch[1]) + self.scope.prior(self.beta)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.003, weight_decay=1.0, betas=(0.9, 0.98))


for beta in (0.0, 1.0):
    torch.manual_seed(0)
    net = Net(beta)
    loader = DataLoader(TensorDataset(seen.inputs, seen.labels), batch_size=len(seen.labels))
    score = lambda side, net=net: (net(side.inputs).argmax(-1) == side.labels).float().mean()  # noqa: E731
    guide = LightningGuide(net.scope, lambda s=score: {"train_accuracy": s(seen), "test_accuracy": s(unseen)})
    lightning.Trainer(max_steps=250, max_epochs=-1, accelerator="cpu", callbacks=[guide], logger=False).fit(net, loader)
net.scope.report("lightning.html", everything=True)
