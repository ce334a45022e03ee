"""Key frequencies: those that the embedding of the operands is made of."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import StoreError
from ..shapes import Float, checked
from ..tasks.modular import Modular
from ..theory import fourier_transform
from .base import Network, StoredRun

SHARE = 0.9


def modular_task(run: StoredRun) -> Modular:
    """The run's task; StoreError if it has no modulus."""
    task = run.config.task
    if not isinstance(task, Modular):
        raise StoreError(f"run {run.id} learns {task.kind}; this probe reads runs of task modular")
    return task


def operand_embedding(run: StoredRun, network: Network) -> Float[Tensor, "operand d"]:
    """The rows of the embedding that belong to 0 … p−1."""
    p = modular_task(run).p
    for name, parameter in network.parameters.items():
        if parameter.part == "embed" and parameter.shape[0] >= p:
            return network.weights[name][:p]
    raise StoreError(f"run {run.id}: model {run.config.model.kind} has no embedding of tokens")


@checked
def key_frequencies(embedding: Float[Tensor, "operand d"]) -> list[int]:
    """The smallest set of frequencies that carries 90 % of the embedding's power, in increasing order.

    The power of a frequency ω is Σ_d |F_d(ω)|² over ±ω; the constant part (ω = 0) does not count.
    """
    size = embedding.shape[0]
    spectrum = fourier_transform(embedding.mT.double())[:, 1 : size // 2 + 1]
    power = spectrum.abs().square().sum(0)
    if size % 2 == 0:
        power[-1] /= 2  # ω = N/2 is its own mirror image
    falling, order = power.sort(descending=True)
    enough = int((falling.cumsum(0) < SHARE * falling.sum()).sum()) + 1
    return sorted((order[:enough] + 1).tolist())


def as_words(frequencies: list[int]) -> str:
    """As in "5, 12, 33"."""
    return ", ".join(map(str, frequencies))


def projection(size: int, frequencies: list[int]) -> Float[Tensor, "place place"]:
    """The matrix that keeps, of a function on 0 … N−1, its cosines and sines of these frequencies (not 0)."""
    place = torch.arange(size)
    apart = (place[:, None] - place).double()
    waves = [(1 if 2 * k == size else 2) * torch.cos(2 * torch.pi * k * apart / size) for k in frequencies]
    return torch.stack(waves).sum(0) / size
