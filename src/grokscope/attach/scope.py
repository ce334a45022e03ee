"""A scope on somebody else's network: attention of every forward pass, a prior on it, rows of measurements, a stored run."""

from __future__ import annotations

import math
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import torch
from torch import nn

from ..errors import ConfigError, GrokscopeError
from ..priors import Prior
from ..priors.kl import KL
from ..theory import attention_entropy, divergence, least_mass, log_mean_attention, oracle_target
from ..theory.contracts import values_unread
from ..trackers import Trackers, check_trackers
from .adapters import Adapter, adapters
from .attention import Attention, Choice, read_attention
from .describing import check_model, describe, distributed_rank, shown, why_nothing_was_seen
from .guiding import lacks, penalty_of
from .measuring import measured, plain, view_of
from .parts import parameters_of, weights_of
from .passes import Eye, Pass
from .sights import ScoreSight
from .tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from .storing import Row, Stored

_WATCHED: weakref.WeakSet[nn.Module] = weakref.WeakSet()
"""Modules under a scope that is open."""


class Scope:
    """Watches a model; see `watch`. It is a context manager: outside of it the model is as it was."""

    def __init__(
        self,
        model: nn.Module,
        *,
        tokens: Tokens,
        choice: Choice,
        every: int,
        to: str | Path | None,
        name: str,
        seed: int,
        settings: Mapping[str, Any],
        track: Sequence[Any],
        again: bool,
    ):
        self.model = check_model(model)
        self.tokens, self.choice, self.every = tokens, choice, every
        self.to, self.name, self.seed, self.settings = to, name or type(self.model).__name__, seed, dict(settings)
        self.track, self.again = tuple(track), again
        check_trackers(self.track)
        self.steps = 0
        """Calls of `step`: the number of optimizer steps that have been made."""
        self.rows: list[Row] = []
        """The measurements so far."""
        self._eye = Eye(self.model, lambda: self.due)
        self._adapters = self._chosen_adapters()
        self._attached: ExitStack | None = None
        self._read: tuple[Pass, Attention] | None = None
        self._prior: tuple[Prior, str] | None = None
        self._prior_terms: list[Tensor] = []
        self._stored: Stored | None = None
        self._trackers: Trackers | None = None
        self._seconds, self._since = 0.0, time.monotonic()
        self._told: set[str] = set()

    # ── the model ────────────────────────────────────────────────────────────────────────────────────────────

    def open(self) -> Self:
        """Begin to watch; `with` does so by itself."""
        if self._attached is not None:
            raise GrokscopeError("this scope is open already")
        if any(module in _WATCHED for module in self.model.modules()):
            raise ConfigError("model", "another scope watches it; close that one first")
        with ExitStack() as stack:
            modules = list(self.model.modules())
            _WATCHED.update(modules)
            stack.callback(_WATCHED.difference_update, modules)
            stack.callback(self._eye.close)
            for adapter in self._adapters:
                stack.enter_context(adapter().attached(self.model, self._eye))
            self._eye.open()
            self._attached = stack.pop_all()
        self._since = time.monotonic()
        return self

    def close(self, error: BaseException | None = None) -> None:
        """Restore the model, save the run and end it; `with` does so by itself."""
        attached, self._attached = self._attached, None
        try:
            if attached is not None:
                attached.close()
        finally:
            if self._stored is not None and attached is not None:
                self._stored.finish(error)
            if self._trackers is not None and attached is not None:
                self._trackers.finish()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(error)

    def describe(self) -> str:
        """What was found, layer by layer: from the last forward pass, or before the first one from the modules."""
        seen = self._eye.last.used if self._eye.last is not None else []
        return describe(self.model, self._adapters, seen)

    # ── attention ────────────────────────────────────────────────────────────────────────────────────────────

    def see(self, logits: Tensor, layer: str | None = None, scale: float | None = None) -> Tensor:
        """Show attention logits that no adapter finds. Use what this returns: the gradient on it is measured.

        logits   [batch, position] or [batch, head, position] of the query alone, or [batch, head, query, position]; with masks
                 added, before the softmax
        layer    a name for it; by default that of the module at work
        scale    factor of the product of query and key in the logits, such as 1/√width: `grad_M` needs it
        """
        if not isinstance(logits, torch.Tensor) or not logits.is_floating_point() or logits.ndim not in (2, 3, 4):
            raise ConfigError(
                "see", "needs attention logits [batch, position], [batch, head, position] or with a query axis"
            )
        if self._eye.current is None and self._eye.last is None:
            raise ConfigError("see", "no forward pass of the watched model has begun")
        rows = logits if logits.ndim == 4 else logits[:, None, None] if logits.ndim == 2 else logits[:, :, None]
        used = logits.view_as(logits)
        name = self._eye.layer if layer is None else layer
        reads = self._eye.reads(len(rows), *rows.shape[2:]) if logits.ndim == 4 else None
        self._eye.saw(ScoreSight(name, rows, scale=scale, reads=reads, one_row=logits.ndim < 4), used, shown=True)
        self._read = None
        return used

    @property
    def attention(self) -> Tensor:
        """α at the queries in the last forward pass [example, head, position]; the heads of all layers side by side."""
        return self._attention().exp()

    @property
    def D(self) -> float:
        """Structural divergence KL(α*‖α) of the last forward pass: α averaged over layers and heads, and D over queries."""
        seen = self._last()
        with torch.no_grad(), values_unread():
            return float(divergence(oracle_target(self._informative(seen)), log_mean_attention(seen.log)).mean())

    @property
    def mass(self) -> float:
        """Least attention on an informative token in the last forward pass, averaged over queries."""
        seen = self._last()
        with torch.no_grad(), values_unread():
            return float(least_mass(log_mean_attention(seen.log).exp(), self._informative(seen)).mean())

    @property
    def entropy(self) -> float:
        """Entropy of attention in nats, averaged over heads and queries of the last forward pass."""
        with torch.no_grad(), values_unread():
            return float(attention_entropy(self._attention()).mean())

    # ── training ─────────────────────────────────────────────────────────────────────────────────────────────

    def prior(self, beta: float | Prior = 0.0, *, on: Literal["mean", "each"] = "mean") -> Tensor:
        """β times the prior's penalty on the last forward pass: add it to the loss. With β = 0 it is a plain zero.

        beta   strength of KL(α*‖α), or any prior: `KL(beta=1, schedule="anneal", span=500)`, `Sparsity(beta=0.1)`
        on     mean: of the average over layers and heads, which may share the work (Conj. E.2); each: of every head
        """
        prior = beta if isinstance(beta, Prior) else KL(beta=_strength(beta))
        prior.check()
        if on not in ("mean", "each"):
            raise ConfigError("on", f"{on!r} is neither 'mean' nor 'each'")
        self._prior = self._prior or (prior, on)
        seen = self._pass()
        weight = prior.weight(torch.tensor(float(self.steps), device=seen.device))
        if not float(weight):
            return torch.zeros((), device=seen.device)
        if not seen.has_gradient and torch.is_grad_enabled():
            raise GrokscopeError("prior: the last forward pass was made without gradients")
        found = read_attention(seen, self.tokens, self.choice)
        if torch.is_grad_enabled() and not found.log.requires_grad:
            raise GrokscopeError(
                "prior: no gradient reaches attention; its weights are frozen, or checkpoints are reentrant (use_reentrant=False)"
            )
        if not self._read or self._read[0] is not seen:
            self._read = (seen, found)
        term = weight * penalty_of(prior, found, on=on, seed=self.seed, step=self.steps)
        self._prior_terms.append(term)
        return term

    @property
    def due(self) -> bool:
        """Whether the next call of `step` makes a row: evaluate your test set only then."""
        return self.steps % self.every == 0

    def step(
        self,
        loss: Any = None,
        *,
        train_loss: Any = None,
        train_accuracy: Any = None,
        test_loss: Any = None,
        test_accuracy: Any = None,
        grad_scale: float = 1.0,
        **more: Any,
    ) -> Row | None:
        """Call it once per optimizer step, after the backward pass. Every `every`-th call makes a row and returns it.

        The row's `epoch` is the number of steps before the forward pass that it describes: the first row is 0.

        loss         what was minimised, this step's prior included; the column `train_loss` is without the prior
        train_loss   the loss without the prior, in place of `loss`
        grad_scale   factor of the loss in its backward pass: `scaler.get_scale()` of a GradScaler, 1/n for n accumulated batches
        more         further columns

        Each may be a number, a tensor, or a function that is called only if a row is made.
        """
        epoch, due = self.steps, self.due
        prior_loss, self._prior_terms = self._prior_terms, []
        row = None
        if due:
            begin = time.monotonic()
            total = sum(float(term.detach()) for term in prior_loss)
            if loss is not None and train_loss is not None:
                raise ConfigError("step", "give loss, which includes the prior, or train_loss, which does not")
            if any(lacks(loss, term) for term in prior_loss):
                raise ConfigError("loss", "does not include this step's prior; give the loss without it as train_loss=")
            given = {"train_accuracy": train_accuracy, "test_loss": test_loss, "test_accuracy": test_accuracy}
            trained = self._eye.last_trained
            seen = self._with_attention(trained) if trained is not None else self._pass()
            row = self._measure(seen, epoch, total, grad_scale)
            numbers = {name: plain(value) for name, value in (given | more).items() if value is not None}
            if loss is not None:
                numbers["train_loss"] = plain(loss) - total
            elif train_loss is not None:
                numbers["train_loss"] = plain(train_loss)
            row |= numbers
            now = time.monotonic()
            taken = now - self._since
            self._seconds += taken
            per_step = (begin - self._since) / self.every if epoch else math.nan
            row = {"epoch": epoch, "seconds": self._seconds, "seconds_per_step": per_step, **row}
            self._since = now
            self.rows.append(row)
            self._write(row)
        self._eye.last_trained = None
        self.steps += 1
        return row

    # ── results ──────────────────────────────────────────────────────────────────────────────────────────────

    def frame(self) -> pd.DataFrame:
        """The rows so far as a table like that of `load_runs`: run, status and settings, then the measurements."""
        from .reporting import frame

        return frame(self)

    def report(self, path: str | Path, title: str = "", everything: bool = False) -> Path:
        """Write the report page, and return its path.

        everything   about all runs in the folder `to`, not only this one
        """
        from .reporting import report

        return report(self, path, title, everything)

    @property
    def is_open(self) -> bool:
        """Whether the model is being watched."""
        return self._attached is not None

    @property
    def id(self) -> str | None:
        """The run's id, once it has a row in a folder."""
        return self._stored.id if self._stored else None

    def config(self) -> dict[str, Any]:
        """The settings that are stored with the run."""
        from ..config.watched import KIND

        prior, on = self._prior or (KL(), "mean")
        counted = sum(weight.numel() for weight in self.model.parameters() if weight.requires_grad)
        return {
            "kind": KIND,
            "name": self.name,
            "model": {
                "class": type(self.model).__name__,
                "weights": counted,
                "adapters": ", ".join(adapter.kind for adapter in self._adapters),
            },
            "tokens": {
                "informative": shown(self.tokens.informative),
                "query": shown(self.tokens.query),
                "layers": shown(self.choice.layers, "all"),
                "heads": shown(self.choice.heads, "all"),
            },
            "prior": prior.to_dict() | {"on": on},
            "settings": self.settings,
            "log": {"every": self.every},
            "seed": self.seed,
        }

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────

    def _chosen_adapters(self) -> list[type[Adapter]]:
        """Those that find a layer, and sdpa, whose calls may be in code without source."""
        found = {name: one for name, one in adapters.entries().items() if one.find(self.model)}
        alone = [one for one in found.values() if one.alone]
        return alone or list({"sdpa": adapters.get("sdpa"), **found}.values())

    def _pass(self) -> Pass:
        """The last forward pass, which has attention."""
        if self._attached is None and self._eye.last is None:
            raise GrokscopeError("the scope is not open; use it in a with statement")
        seen = self._eye.current or self._eye.last
        if seen is None:
            raise GrokscopeError("no forward pass of the watched model has been made yet")
        return self._with_attention(seen)

    def _with_attention(self, seen: Pass) -> Pass:
        if not seen.used:
            raise ConfigError("model", why_nothing_was_seen(self.model))
        return seen

    def _attention(self) -> Tensor:
        """log α of the last forward pass; which tokens inform need not be known."""
        seen = self._pass()
        with torch.no_grad():
            return read_attention(seen, replace(self.tokens, informative=None), self.choice).log

    def _last(self) -> Attention:
        seen = self._pass()
        if not self._read or self._read[0] is not seen:
            with torch.no_grad():
                self._read = (seen, read_attention(seen, self.tokens, self.choice))
        return self._read[1]

    def _informative(self, seen: Attention) -> Tensor:
        if seen.informative is None:
            raise ConfigError("informative", "not given: which tokens decide the answer?")
        return seen.informative

    def _measure(self, seen: Pass, epoch: int, prior_loss: float, grad_scale: float) -> Row:
        with torch.no_grad():
            found = read_attention(seen, self.tokens, self.choice)
            reason = found.last.no_gradient
            if not reason and seen.has_gradient and not found.last.gradient_arrived:
                reason = "no backward pass has reached it"
            if reason:
                self._tell(f"{found.last.layer or 'attention'}: {reason}: the gradient on attention is not measured")
            weights = weights_of(self.model)
            parameters = parameters_of(self.model, seen.used)
            numbers = {"prior_loss": prior_loss}
            view = view_of(found, weights, parameters, numbers, seed=self.seed, step=epoch, grad_scale=grad_scale)
            return measured(view, found)

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            print(line, file=sys.stderr)

    def _write(self, row: Row) -> None:
        if distributed_rank():
            return  # the first process writes
        if self.to is not None and self._stored is None:
            from ..ops.devices import device_name
            from .storing import Stored

            device = next((weight.device for weight in self.model.parameters()), torch.device("cpu"))
            self._stored = Stored(self.to, self.config(), device=device_name(device), again=self.again)
        if self.track and self._trackers is None:
            self._trackers = Trackers(self.track, self.name, self.config())
        if self._stored is not None:
            self._stored.add(row)
        if self._trackers is not None:
            self._trackers.log(row)


def _strength(beta: Any) -> float:
    if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not math.isfinite(beta) or beta < 0:
        raise ConfigError("beta", f"{beta!r} is not a finite number of at least 0")
    return float(beta)
