"""What an adversary is, how it searches, and where its findings are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from grokscope.shapes import Float

FILE = Path(__file__).with_name("tightness.json")
COMMAND = "python -m tools.adversaries"
CAP = 1000.0
"""A violation by more than this is as good as any."""


@dataclass(frozen=True)
class Adversary:
    """A family of legal cases of one inequality."""

    paper: str
    number: str
    size: int
    """How many free numbers make a case."""
    ratio: Callable[[Float[Tensor, "case size"]], Float[Tensor, "case"]]
    """How much of the bound each case uses."""


@dataclass(frozen=True)
class Finding:
    """The worst case found for one inequality."""

    paper: str
    number: str
    ratio: float
    witness: list[float]
    """The free numbers that attain it."""


adversaries: dict[tuple[str, str], Adversary] = {}


def adversary(
    number: str, *, size: int, paper: str = "structural-inference"
) -> Callable[[Callable[[Tensor], Tensor]], Callable[[Tensor], Tensor]]:
    """Register the decorated ratio as the adversary of an equation."""

    def register(ratio: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def capped(numbers: Tensor) -> Tensor:
            return ratio(numbers).clamp_max(CAP)

        adversaries[paper, number] = Adversary(paper, number, size, capped)
        return ratio

    return register


def split(numbers: Float[Tensor, "case size"], *shapes: tuple[int, ...]) -> list[Tensor]:
    """The free numbers of each case as tensors of these shapes."""
    parts, start = [], 0
    for shape in shapes:
        count = torch.Size(shape).numel()
        parts.append(numbers[..., start : start + count].reshape(*numbers.shape[:-1], *shape))
        start += count
    assert start == numbers.shape[-1], "the sizes do not add up"
    return parts


def search(adversary: Adversary, *, cases: int = 64, steps: int = 1000, seed: int = 0) -> Finding:
    """Gradient ascent on the ratio from many random starts; the witness is rounded before its ratio is taken."""
    generator = torch.Generator().manual_seed(seed)
    start = 1.5 * torch.randn(cases, adversary.size, generator=generator, dtype=torch.float64)
    numbers = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([numbers], lr=0.03, maximize=True)
    best = start
    for step in range(steps):
        ratio = adversary.ratio(numbers)
        if step % 20 == 0:
            best = _better(adversary, best, numbers.detach())
        (gradient,) = torch.autograd.grad(ratio.clamp_min(1e-9).log().sum(), numbers)
        numbers.grad = gradient.nan_to_num(0.0, 0.0, 0.0)
        optimizer.step()
    best = _better(adversary, best, numbers.detach())
    ratios = adversary.ratio(best).nan_to_num(0.0)
    witness = [float(f"{x:.5g}") for x in best[ratios.argmax()].tolist()]
    return Finding(adversary.paper, adversary.number, attained(adversary, witness), witness)


def attained(adversary: Adversary, witness: list[float]) -> float:
    """How much of the bound a witness uses."""
    return adversary.ratio(torch.tensor([witness], dtype=torch.float64)).item()


def _better(adversary: Adversary, old: Tensor, new: Tensor) -> Tensor:
    better = adversary.ratio(new).nan_to_num(0.0) > adversary.ratio(old).nan_to_num(0.0)
    return torch.where(better.unsqueeze(-1), new, old)


def save(found: list[Finding]) -> None:
    rows = ",\n".join(f"    {json.dumps(asdict(finding))}" for finding in found)
    FILE.write_text(f'{{\n  "made by": "{COMMAND}",\n  "findings": [\n{rows}\n  ]\n}}\n')


def findings() -> dict[tuple[str, str], Finding]:
    """What the last full search found."""
    rows = json.loads(FILE.read_text())["findings"]
    return {(row["paper"], row["number"]): Finding(**row) for row in rows}
