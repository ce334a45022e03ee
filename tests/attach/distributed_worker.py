"""Trains one model in two processes under DistributedDataParallel, and in one alone; writes the weights to a folder."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from networks import MinGPT, batch
from torch.nn.parallel import DistributedDataParallel

import grokscope

MASK = torch.tensor([True, True, False, False, False])


def train(model, watched, parts, **how):
    """Three steps on these parts of a batch of eight."""
    tokens, labels = batch(size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with grokscope.watch(watched, informative=MASK, every=1, **how) as scope:
        for _ in range(3):
            loss = F.cross_entropy(model(tokens[parts])[:, -1], labels[parts]) + scope.prior(0.3)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scope.step(loss=loss)


def work(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = MinGPT()
    parallel = DistributedDataParallel(model)
    train(parallel, parallel, slice(4 * rank, 4 * rank + 4), to=f"{folder}/runs")
    torch.save(model.state_dict(), f"{folder}/rank{rank}.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    torch.multiprocessing.spawn(work, (str(folder),), nprocs=2)
    torch.manual_seed(0)
    model = MinGPT()
    train(model, model, slice(None))
    torch.save(model.state_dict(), folder / "alone.pt")
