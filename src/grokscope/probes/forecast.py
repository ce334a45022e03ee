"""What is known of a run on its plateau: the features that forecasts are made from, at full resolution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import torch

from ..analysis import times_of
from ..analysis.features import participation_ratio, variances
from ..analysis.plateau_features import MULTIPLES, features_at
from ..errors import StoreError
from ..optim import losses
from ..randomness import stream
from ..tasks import Examples
from .base import Network, StoredRun, probes
from .checkpoints import at_least
from .examples import in_detail, some
from .learning_coefficient import Loss, Weights, local_learning_coefficient

if TYPE_CHECKING:
    from torch import Tensor

FEW = 512
"""Training examples on which gradients are compared."""
CHAINS = "learning coefficient"
"""Purpose of the random numbers of Langevin chains."""


class Chained(NamedTuple):
    """The first arguments of `local_learning_coefficient` and `calibrate`."""

    loss: Loss
    weights: Weights
    examples: int


@probes.register("forecast")
def forecast(run: StoredRun) -> pd.DataFrame:
    """Features at 1, 1.5, 2, 3 … times t_mem, from evaluations and the newest kept checkpoint up to each of these epochs.

    A run that has not memorised has no rows. Features of the network (scale of the logits, spectrum and class distances of the
    hidden representations, gradient noise, commutator defect, learning coefficient) need checkpoints since t_mem: `log.keep`.
    """
    at_least(run, 1)
    t_mem = times_of(run.info).t_mem
    if t_mem is None:
        return pd.DataFrame()
    rows: list[dict[str, float]] = []
    known: dict[int, dict[str, float]] = {}
    for multiple in MULTIPLES:
        epoch = multiple * max(t_mem, 1)
        if epoch > run.info.epoch:
            break
        row = {"epoch": epoch, "multiple": multiple} | features_at(run.metrics, t_mem, epoch)
        kept = [own for own in run.finite_epochs if t_mem <= own <= epoch]
        if kept:
            if kept[-1] not in known:
                known[kept[-1]] = network_features(run, kept[-1], chains=not known)
            row |= known[kept[-1]]
        rows.append(row)
    return pd.DataFrame(rows)


def network_features(run: StoredRun, epoch: int, chains: bool = True) -> dict[str, float]:
    """Features of the network in a checkpoint.

    chains   whether to estimate the learning coefficient, the most expensive of them
    """
    network, examples = run.network(epoch), some(run.split.train)
    found = representation(network, examples)
    if run.config.task.shape.every_position:
        return found
    try:
        return found | gradients(network, examples, run.config.loss) | (_llc(network, run) if chains else {})
    except (RuntimeError, StoreError):  # such as an operation that vmap does not support
        return found


def representation(network: Network, examples: Examples) -> dict[str, float]:
    """Scale of the logits; spectral entropy, participation ratio and class distance of the hidden representations."""
    out = in_detail(network, examples)
    found = {"logit_scale": float(np.log(out.answers.double().std().item() + 1e-12))}
    hidden = out.hidden if out.hidden is not None else out.prelogits
    if hidden is None or examples.labels.is_floating_point():
        return found
    features = hidden.double().numpy()
    spectrum = variances(features)
    share = spectrum / max(spectrum.sum(), 1e-30)
    share = share[share > 0]
    found["spectral_entropy"] = float(-(share * np.log(share)).sum())
    found["participation"] = float(np.log(max(participation_ratio(spectrum), 1e-12)))
    labels = examples.labels if examples.labels.ndim == 1 else examples.labels[:, -1]
    found["class_distance"] = class_distance(features, labels.numpy())
    return found


def class_distance(features: np.ndarray, labels: np.ndarray) -> float:
    """log of the variance between the means of classes over the mean variance within them."""
    centre = features.mean(0)
    between = within = 0.0
    for label in np.unique(labels):
        own = features[labels == label]
        mean = own.mean(0)
        between += len(own) * float(np.square(mean - centre).sum())
        within += float(np.square(own - mean).sum())
    return float(np.log((between + 1e-30) / (within + 1e-30)))


def gradients(network: Network, examples: Examples, loss: str) -> dict[str, float]:
    """Gradient noise ‖g₁ − g₂‖²/‖g₁ + g₂‖² of two halves of the examples, and the commutator defect ‖H₁g₂ − H₂g₁‖/(‖g₁‖‖g₂‖): how
    much the order of two small steps matters."""
    few = min(FEW, len(examples.labels))
    halves = [_part(examples, slice(0, few // 2)), _part(examples, slice(few // 2, 2 * (few // 2)))]
    weights = {name: weight.detach().requires_grad_() for name, weight in network.weights.items()}
    names = list(weights)
    first, second = (
        torch.autograd.grad(
            _loss(network, weights, half, loss), [weights[n] for n in names], create_graph=True, materialize_grads=True
        )
        for half in halves
    )
    a, b = (torch.cat([g.flatten() for g in own]) for own in (first, second))
    noise = (a - b).square().sum() / (a + b).square().sum().clamp_min(1e-30)
    found = {"gradient_noise": float(noise.clamp_min(1e-12).log().item())}
    pairs = []
    for own, other in ((a, b), (b, a)):
        product = torch.autograd.grad(
            own @ other.detach(), [weights[n] for n in names], retain_graph=True, materialize_grads=True
        )
        pairs.append(torch.cat([g.flatten() for g in product]))
    defect = (pairs[0] - pairs[1]).norm() / (a.norm() * b.norm()).clamp_min(1e-30)
    return found | {"commutator": float(defect.clamp_min(1e-12).log().item())}


def chained(network: Network, run: StoredRun) -> Chained:
    """What Langevin chains need of a checkpoint: the loss over rows of the training examples, the weights, how many examples."""
    train = run.split.train

    def loss(weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        return _loss(network, weights, Examples(train.inputs[rows], train.labels[rows]), run.config.loss)

    return Chained(loss, network.weights, len(train.labels))


def _llc(network: Network, run: StoredRun) -> dict[str, float]:
    """`llc`, the logarithm of λ̂, where the chains have settled; else `llc_unsettled`, which no predictor uses. Either way
    `llc_drift`, by which λ̂ still moves."""
    found = local_learning_coefficient(*chained(network, run), stream(run.config.seed, CHAINS))
    drift = {"llc_drift": found.drift}
    return {"llc" if found.settled else "llc_unsettled": math.log(found.mean)} | drift if found.mean > 0 else drift


def _loss(network: Network, weights: dict[str, Tensor], examples: Examples, loss: str) -> Tensor:
    logits = network.with_weights(weights).forward(examples).logits
    return losses.get(loss)(logits.float(), examples.labels).mean()


def _part(examples: Examples, rows: slice) -> Examples:
    informative = None if examples.informative is None else examples.informative[rows]
    return Examples(examples.inputs[rows], examples.labels[rows], informative)
