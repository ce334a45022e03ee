"""One run in a plain training loop: forward, ``loss.backward()``, clip, ``optimizer.step()``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ...fleet.data import Batch, lane_data, with_plan
from ...fleet.start import starting_point
from ...interventions.base import NoIntervention
from ...optim import losses
from ...settings import require
from ...tickets.base import Ticket
from .network import Draws, plain_network
from .updates import PlainFilter, optimizer_for

if TYPE_CHECKING:
    from ...config import RunConfig
    from ...models import Output
    from ...randomness import Key
    from ...tickets import Origin


class PlainLoop:
    """Trains one run, on the data and from the weights that it has in the fleet."""

    def __init__(self, config: RunConfig, device: torch.device, origin: Origin | None = None):
        """origin   the run that the ticket comes from"""
        acts = not isinstance(config.do, NoIntervention) or config.branch.run
        require(
            not acts,
            "do" if config.do.kind != "none" else "branch.run",
            "a plain loop has no interventions and branches",
        )
        self.config, self.device, self.shape = config, device, config.task.shape
        train, test, *_ = lane_data(config)
        planned = with_plan(train, self.shape.vocabulary, max(self.shape.length, self.shape.test_length))
        start = starting_point(config, planned, origin)
        self.network = plain_network(config.model, self.shape).to(device)
        self.weights: dict[str, nn.Parameter] = self.network.named_weights()
        """The parameters by the model's names, with the scores of a ticket that trains some."""
        for name in start.weights.keys() - self.weights.keys():
            self.weights[name] = nn.Parameter(torch.empty(start.weights[name].shape, device=device))
        self.mask: dict[str, Tensor] = {}
        with torch.no_grad():
            for name, weight in start.weights.items():
                self.weights[name].copy_(self.from_model(name, weight))
            for name, lives in start.mask.items():
                self.mask[name] = self.from_model(name, lives.to(device, torch.float32))
                self.weights[name].mul_(self.mask[name])
        self.train, self.test = self._placed(train), self._prepared(self._placed(test))
        if not config.batch_size:
            self.train = self._prepared(self.train)
        self.parameters = config.ticket.with_scores(config.model.parameters(self.shape))
        turn = (self.to_model, self.from_model)
        self.optim = optimizer_for(config, self.weights, self.parameters, *turn, self._draws)
        self.trained = [weight for weight in self.weights.values() if weight.requires_grad]
        self.filter = PlainFilter(config, *turn)
        self.changes_weights = type(config.ticket).effective is not Ticket.effective or config.noise.weights > 0
        """Whether the network computes with other weights than it stores."""
        self.has_penalty = self._model_penalty() is not None
        self.steps = 0
        self._order = torch.empty(0)

    @property
    def label(self) -> str:
        """What tables call the network."""
        return self.network.label

    # ── training ─────────────────────────────────────────────────────────────────────────────────────────────

    def step(self) -> None:
        """One optimizer step."""
        config = self.config
        with self._products():
            loss = self.objective(self._batch(), self.steps, self._draws())
            self.optim.zero_grad()
            loss.backward()
            self._change_gradients()
            rate = config.optim.rate(self._epoch(self.steps + 1), torch.tensor(float(config.epochs))).item()
            for group in self.optim.param_groups:
                if not group["fixed"]:
                    group["lr"] = rate
            self.optim.step()
            self._project()
        self.steps += 1

    def objective(self, batch: Batch, step: int, key: Key) -> Tensor:
        """Task loss + prior + penalties on a batch of inputs, labels and targets."""
        config = self.config
        labels = batch["labels"]
        if config.noise.labels and config.noise.redraw == "every-step":
            labels = config.noise.labels_now(labels, self.shape.classes, key)
        self.network.train()
        self.network.draws = key
        with self._autocast():
            out = self._forward(batch, key)
        loss = task_loss(config.loss, out.logits, labels)
        if "target" in batch and config.prior.beta:
            beta = config.prior.weight(self._epoch(step)).item()
            loss = loss + beta * config.prior.penalty(out, batch["target"], key)
        if config.constraint.qk_penalty:
            loss = loss + config.constraint.penalty(dict(self.weights))
        return loss + self._model_penalty() if self.has_penalty else loss

    @torch.no_grad()
    def evaluate(self) -> None:
        """Loss and accuracy on the test set."""
        self.network.eval()
        with self._products(), self._autocast():
            logits = self.network(self.test["inputs"], self.test.get("frozen")).logits
        labels = self.test["labels"]
        task_loss(self.config.loss, logits, labels).item()
        if self.shape.regression:
            return
        if self.shape.every_position:
            logits, labels = logits[:, -1], labels[:, -1]
        (logits.argmax(-1) == labels).float().mean().item()

    # ── parts of a step ──────────────────────────────────────────────────────────────────────────────────────

    def _forward(self, batch: Batch, key: Key) -> Output:
        if not self.changes_weights:
            return self.network(batch["inputs"], batch.get("frozen"))
        weights = {name: self.to_model(name, weight) for name, weight in self.weights.items()}
        weights = self.config.ticket.effective(weights)
        if self.config.noise.weights:
            weights = self.config.noise.weights_now(weights, key)
        places = self.network.places
        used = {places[name]: self.from_model(name, weight) for name, weight in weights.items()}
        return functional_call(self.network, used, (batch["inputs"], batch.get("frozen")))

    def _model_penalty(self) -> Any:
        return self.config.model.penalty({name: self.to_model(name, weight) for name, weight in self.weights.items()})

    def _batch(self) -> Batch:
        """The whole training set, or the next slice of a random order."""
        size = self.config.batch_size
        if not size:
            return self.train
        place = self.steps % self.config.steps_per_epoch
        if place == 0:
            self._order = torch.randperm(self.shape.train_size, device=self.device)
        rows = self._order[place * size : (place + 1) * size]
        return self._prepared({name: tensor[rows] for name, tensor in self.train.items()})

    def _change_gradients(self) -> None:
        """Mask, filter, clip."""
        for weight in self.trained:
            if weight.grad is None:  # unused, as the queries of frozen attention: decay applies nevertheless
                weight.grad = torch.zeros_like(weight)
        for name, lives in self.mask.items():
            grad = self.weights[name].grad
            assert grad is not None
            grad.mul_(lives)
        self.filter(self.weights)
        if self.config.optim.clip:
            nn.utils.clip_grad_norm_(self.trained, self.config.optim.clip)

    @torch.no_grad()
    def _project(self) -> None:
        """Norm matching and the mask."""
        if self.config.constraint.norm:
            mlp = [weight for name, weight in self.weights.items() if self.parameters[name].part == "mlp"]
            norm = torch.stack([weight.norm() for weight in mlp]).norm()
            for weight in mlp:
                weight.mul_(self.config.constraint.norm / norm)
        for name, lives in self.mask.items():
            self.weights[name].mul_(lives)

    # ── helpers ──────────────────────────────────────────────────────────────────────────────────────────────

    def to_model(self, name: str, weight: Tensor) -> Tensor:
        """A weight or its gradient as the model stores it."""
        return self.network.to_model(name, weight) if name in self.network.places else weight

    def from_model(self, name: str, weight: Tensor) -> Tensor:
        return self.network.from_model(name, weight) if name in self.network.places else weight

    def _placed(self, batch: Batch) -> Batch:
        named = {"inputs" if name in ("tokens", "vectors") else name: tensor for name, tensor in batch.items()}
        return {name: tensor.to(self.device) for name, tensor in named.items()}

    def _prepared(self, batch: Batch) -> Batch:
        return batch | {"inputs": self.network.prepare(batch["inputs"])}

    def _draws(self) -> Key:
        return Draws(self.device).as_key()

    def _epoch(self, step: int) -> Tensor:
        return torch.tensor(step / self.config.steps_per_epoch)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.config.precision != "bf16":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _products(self) -> AbstractContextManager[None]:
        return products_in(self.config.precision, self.device)


def task_loss(name: str, logits: Tensor, labels: Tensor) -> Tensor:
    """The mean loss over examples (and positions), by PyTorch's own function where it has one."""
    logits, labels = logits.float().flatten(0, -2), labels.flatten()
    if name == "cross_entropy":
        return F.cross_entropy(logits, labels)
    if name == "mse" and labels.is_floating_point():
        return F.mse_loss(logits.squeeze(-1), labels)
    if name == "mse":
        return F.mse_loss(logits, F.one_hot(labels, logits.shape[-1]).to(logits.dtype))
    return losses.get(name)(logits, labels).mean()


@contextmanager
def products_in(precision: str, device: torch.device) -> Iterator[None]:
    """Context in which a GPU computes float32 products in the precision of a run; a CPU always computes them in float32."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
