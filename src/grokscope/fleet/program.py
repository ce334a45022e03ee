"""Many runs as one stacked program: the functions of one run (objective, update, evaluation) under vmap, on one buffer
[lane, weight].

Each lane has its own data, hyperparameters, optimizer state, step counter and mask. No operation mixes lanes, so a lane
(NaN included) does not affect another. On a GPU a step and an evaluation are each one CUDA graph. On a CPU training uses
programs of one lane, which need no vmap: a run's bits do not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.func import vmap

from ..interventions import Rates
from ..ops.blas import pin_products
from ..ops.graph import captured, restored
from ..ops.memory import keep_freed_memory
from ..ops.triton import usable_on
from ..randomness import Key
from ..theory import log_mean_attention
from ..theory.contracts import values_unread
from ..tickets.base import Ticket
from .acting import Acting
from .data import Batch, select, with_plan
from .division import blocks_of, divided, divides, has_long_steps
from .evaluation import Evaluation
from .guard import no_global_randomness
from .lanes import Lanes
from .last_run import LastRun
from .objective import Objective
from .stacked import WithGradient, mapped
from .update import Update

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig


_BURST = 8
"""Steps per CUDA graph, if as many are left: fleets that share the interpreter wait for each other at every launch."""
_AHEAD = {"cpu": 32, "cuda": 256}
"""Number of steps whose learning rates are computed at once."""


class Program(Lanes):
    """How the runs in the lanes are trained and measured, all at once."""

    def __init__(
        self,
        template: RunConfig,
        lanes: int,
        device: torch.device,
        fuse: bool = True,
        fit_only: bool = False,
        last: LastRun | None = None,
    ):
        """
        fuse       if False, every loss is computed from logits
        fit_only   whether loss and accuracy are all that is measured
        last       what was made of the run that was loaded last, into the program before this one
        """
        if device.type == "cpu":
            keep_freed_memory()
            pin_products()
        super().__init__(template, lanes, device, last)
        self.objective = Objective(template, device, fuse)
        self._last.enter((device, self.shape, self.plans_in_steps, self._heads_planned(), self.layout.parameters))
        self.update = Update(template, self.layout)
        self.acting = Acting(template, self.layout)
        self.hooks = self.acting.hooks
        """What the runs' intervention changes in a step."""
        as_stored = type(template.ticket).effective is Ticket.effective and not template.noise.in_steps
        in_blocks = lanes == 1 and device.type == "cpu" and fuse and not self.objective.fused and divides(template)
        self.bounds = blocks_of(template) if in_blocks else []
        """The blocks of the training batch, if it is divided."""
        self.evaluation = Evaluation(self.objective, in_blocks)
        self.fit_only = fit_only
        self.needs_no_vmap = self.objective.fused and as_stored and not self.objective.has_penalty()
        """Whether the fused loss takes stacked weights directly."""
        self._ahead = torch.zeros(_AHEAD[device.type], len(Rates._fields), lanes, device=device)
        """Learning rates, prior strengths … of the next steps."""
        self._counters = torch.zeros(lanes + 1, dtype=torch.int64, device=device)
        """What a step itself counts, since a graph repeats the same operations: the steps of each run, and `_next`."""
        self.step, self._next = self._counters[:lanes], self._counters[lanes:]
        """`_next`: which of the numbers ahead are the next step's."""
        self._ones = torch.ones(lanes, device=device)
        self._left = 0
        """How many of them are left."""
        self._steps_guarded = self._evaluations_guarded = False
        """Whether one evaluation has been checked for draws from a global generator."""
        self._rehearsed = False
        """Whether the kernels are compiled."""
        self._blocks: tuple[Batch, ...] = ()
        """The blocks of the training set, if a batch is all of it."""
        self._record()

    def changed(self) -> None:
        self._blocks, self._left = (), 0

    def rebuilt(self) -> None:
        self._record()  # the recorded graphs read the tensors of before

    def narrow(self, lanes: list[int]) -> Program:
        """The same program with only these lanes."""
        program = Program(self.config, len(lanes), self.device, fit_only=self.fit_only)
        program.copy_lanes(self, lanes)
        return program

    # ── training ─────────────────────────────────────────────────────────────────────────────────────────────

    def train_epoch(self, epochs: int = 1) -> None:
        """One pass over each lane's training set, or several."""
        self.train_steps(epochs * self.config.steps_per_epoch)

    def train_steps(self, steps: int) -> None:
        while steps:
            if not self._left:
                self._look_ahead()
            several = self._train_burst is not None and min(steps, self._left) >= _BURST
            if several and self._train_burst is not None:
                self._train_burst()
            else:
                self._train_step()
            done = _BURST if several else 1
            self._left, steps = self._left - done, steps - done

    def finish(self) -> None:
        """Wait until the device has completed all work of this thread."""
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()

    def _record(self) -> None:
        """Prepare the step and the evaluation; on a GPU they become CUDA graphs at their first call."""
        self._train_step: Callable[[], None] = self._eager_step
        self._train_burst: Callable[[], None] | None = None
        self._evaluate: Callable[[], dict[str, Tensor]] = self._eager_evaluation
        if self.device.type == "cuda":
            precision = self.config.precision
            self._train_step = captured(self._eager_step, self._changing, precision, self._rehearse)
            if not has_long_steps(self.config, self.lanes):
                self._train_burst = captured(
                    self._eager_burst, self._changing, precision, self._rehearse, self._eager_step
                )
            self._evaluate = captured(self._eager_evaluation, lambda: [], precision, self._rehearse)

    def _rehearse(self) -> None:
        """Compile the kernels of a step and of an evaluation side by side, before the first of them is recorded."""
        if self._rehearsed or not usable_on(self.device):
            return
        from ..ops.triton.launching import rehearsal

        self._rehearsed = True
        with restored(self._changing()), rehearsal(self.device):
            self._step_all()
            self._evaluate_all()

    def close(self) -> None:
        """Release the recorded graphs: they keep the program and its memory alive until the next garbage collection."""
        del self._train_step, self._train_burst, self._evaluate

    def _changing(self) -> list[Tensor]:
        """All tensors that a step modifies."""
        state = (tensor for component in self.state.values() for tensor in component.values())
        return [self.flat, self._counters, *state]

    def _eager_burst(self) -> None:
        for _ in range(_BURST):
            self._eager_step()

    def _eager_step(self) -> None:
        if self._steps_guarded:
            self._step_all()
            return
        with no_global_randomness():
            self._step_all()
        self._steps_guarded = True

    def _step_all(self) -> None:
        rates = self._scheduled()
        grads = self._gradients(*self._objective(self._batch(), rates))
        with torch.no_grad():
            grad = self.layout.join(dict(zip(self.weights, grads, strict=True)))
            if "gradient" in self.hooks:
                grad = self._each_run(self.acting.gradient)(grad, self.flat, *self._moment())
            before = self.flat.clone() if "update" in self.hooks else None
            age = self._each_run(self.acting.age)(*self._moment()) if "age" in self.hooks else None
            if self.update.is_plain_adamw:
                self._fused_adamw(grad, rates, age)
            else:
                self._apply_update(grad, rates, age)
            if before is not None:
                decay = rates.lr * rates.weight_decay
                self._set_weights(self._each_run(self.acting.update)(before, self.flat, decay, *self._moment()))
            self._counters += 1
            if "weights" in self.hooks:
                self._set_weights(self._each_run(self.acting.weights)(self.flat, *self._moment()))
            if "state" in self.hooks:
                self._set_state(self._each_run(self.acting.state)(self.state, *self._moment()))

    def _moment(self) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """What interventions know of the time: hyperparameters, step and seed of each run."""
        return self.hyper, self.step, self.seed

    def _set_weights(self, flat: Tensor) -> None:
        self.flat.copy_(flat if self.mask is None else flat * self.mask)

    def _set_state(self, state: dict[str, dict[str, Tensor]]) -> None:
        for component, tensors in state.items():
            for key, tensor in tensors.items():
                self.state[component][key].copy_(tensor)

    def _gradients(self, of: list[Tensor], factors: list[Tensor]) -> tuple[Tensor, ...]:
        """The gradient of the objective with respect to every weight."""
        weights = list(self.weights.values())
        total = WithGradient.apply(len(of), *of, *factors)
        # frozen attention leaves W_Q and W_K unused: their gradient is 0
        return torch.autograd.grad(total, weights, allow_unused=True, materialize_grads=True)

    def _objective(self, batch: Batch, rates: Rates) -> tuple[list[Tensor], list[Tensor]]:
        """The tensors to differentiate and the factor of each: the sum of their products is the objective of the runs, or has the
        same gradient."""
        beta = rates.prior
        if len(self.bounds) > 1 and "target" not in batch:
            in_blocks = self._each_run(partial(self.objective.loss_in_blocks, self._in_blocks(batch)))
            total = in_blocks(self.weights, self.hyper, beta, self.step, self.seed)
            return [total], [self._ones]
        if not self.needs_no_vmap:
            loss = self._each_run(self.objective.loss)
            total = loss(self.weights, self.hyper, batch, beta, rates.data, self.step, self.seed)
            return [total], [self._ones]
        task, out = self.objective.fused_loss(self.weights, batch)
        target = batch.get("target")
        if target is None and not self.config.constraint.qk_penalty:
            return [task], [self._ones]
        log_attention = out.log_attention
        alone = target is not None and not self.config.constraint.qk_penalty
        if alone and log_attention is not None and log_attention.requires_grad:
            assert target is not None
            slope = self.config.prior.constant_gradient(target)
            # several heads on a CPU: their penalty is computed, so that its gradient keeps its bits
            if slope is not None and (log_attention.shape[2] == 1 or usable_on(self.device)):
                with values_unread():
                    together = log_mean_attention(log_attention)
                return [task, together], [self._ones, beta[:, None, None] * slope]
        penalties = self._each_run(self.objective.penalties)
        return [task + penalties(self.weights, self.hyper, out.tensors(), batch, beta, self.step, self.seed)], [
            self._ones
        ]

    def _look_ahead(self) -> None:
        """Compute the scheduled numbers of each run for the next steps: many small operations."""
        self._left = len(self._ahead)
        steps = self.step + torch.arange(self._left, device=self.device)[:, None]
        torch.stack(vmap(vmap(self.objective.scheduled), (None, 0))(self.hyper, steps), 1, out=self._ahead)
        self._next.zero_()

    def _in_blocks(self, batch: Batch) -> tuple[Batch, ...]:
        if self.config.batch_size or not self._blocks:
            self._blocks = divided({name: t[0] for name, t in batch.items()}, self.config, self.bounds)
        return self._blocks

    def _scheduled(self) -> Rates:
        """The scheduled numbers of each run at this step."""
        return Rates(*self._ahead.index_select(0, self._next)[0])

    def _apply_update(self, grad: Tensor, rates: Rates, age: Tensor | None) -> None:
        hyper = self.hyper | {"optim.weight_decay": rates.weight_decay}
        arguments = (self.flat, grad, self.state, hyper, rates.lr, self.step, self.seed, age)
        if self.mask is None:
            flat, state = self._each_run(self.update)(*arguments)
        else:
            flat, state = self._each_run(self.update.masked)(*arguments, self.mask)
        self.flat.copy_(flat)
        self._set_state(state)

    def _fused_adamw(self, grad: Tensor, rates: Rates, age: Tensor | None) -> None:
        """The same in place, for a step that consists of clipping and AdamW alone."""
        if usable_on(self.device):
            from ..ops.triton.adamw import adamw_
        else:
            from ..ops.adamw import adamw_
        if self.mask is not None:
            grad = grad * self.mask
        own = {name: self.hyper[f"optim.{name}"] for name in ("clip", "beta1", "beta2", "eps")} | {
            "weight_decay": rates.weight_decay
        }
        state, before = self.state["optim"], self.step if age is None else age
        adamw_(self.flat, grad, state["mean"], state["square"], before, rates.lr, grad.norm(dim=1), **own)
        if self.mask is not None:
            self.flat *= self.mask

    def _batch(self) -> Batch:
        """The batch of this step: the whole training set, or the next slice of each lane's order of this epoch."""
        batch = self._next_examples()
        if "batch" in self.hooks:
            batch = self._each_run(self.acting.batch)(batch, *self._moment())
        return self._clamped(self.planned(batch) if self.plans_in_steps else batch)

    def _clamped(self, batch: Batch) -> Batch:
        """With the flag whether attention is clamped now, if it is not always or never."""
        if not self.config.do.clamps_at_times:
            return batch
        return batch | {"clamped": self._each_run(self.acting.clamped)(*self._moment())}

    def _next_examples(self) -> Batch:
        if not (size := self.config.batch_size):
            return self.train
        per_epoch, examples = self.config.steps_per_epoch, self.shape.train_size
        epoch, place = self.step // per_epoch, self.step % per_epoch
        key = vmap(lambda seed, epoch: Key(seed, epoch).uniform("batch order", (examples,)))(self.seed, epoch)
        slice_ = (place * size)[:, None] + torch.arange(size, device=self.device)
        return select(self.train, key.argsort(dim=1, stable=True).gather(1, slice_))

    def planned(self, batch: Batch) -> Batch:
        positions = max(self.shape.length, self.shape.test_length)
        return with_plan(batch, self.shape.vocabulary, positions, self._heads_planned())

    def _heads_planned(self) -> int:
        """Of how many heads the plan is added; 1 for none."""
        model = self.config.model
        expanded = self.objective.fused and not model.forms_stream(self.device)
        return getattr(model, "heads", 1) if expanded else 1

    # ── measuring ────────────────────────────────────────────────────────────────────────────────────────────

    def evaluate(self) -> dict[str, list[float]]:
        """Every registered measure of every lane, by column; with `fit_only` that of the fit."""
        return {name.partition("/")[2]: values for name, values in self._evaluated().items()}

    def evaluate_by_measure(self, names: Sequence[str]) -> dict[str, dict[str, list[float]]]:
        """Some measures of every lane, by measure and column; a measure that does not apply has no columns."""
        found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
        for name, values in self._evaluated().items():
            measure, _, column = name.partition("/")
            if measure in found:
                found[measure][column] = values
        return found

    def _evaluated(self) -> dict[str, list[float]]:
        values = self._evaluate()
        table = torch.stack(list(values.values())).cpu()
        return dict(zip(values, table.tolist(), strict=True))

    def _eager_evaluation(self) -> dict[str, Tensor]:
        if self._evaluations_guarded:
            return self._evaluate_all()
        with no_global_randomness():
            found = self._evaluate_all()
        self._evaluations_guarded = True
        return found

    def _evaluate_all(self) -> dict[str, Tensor]:
        train = self._clamped(self.planned(self.train) if self.plans_in_steps else self.train)
        test = self._clamped(self.test)
        weights = {name: weight.detach() for name, weight in self.weights.items()}
        if self.fit_only:
            with torch.no_grad():
                fit = self._each_run(self.evaluation.fit)
                return fit(weights, self.hyper, train, test, self.validation, self.step, self.seed)
        offset = self._no_offset()
        seen, cross_entropy = self._each_run(self.evaluation.observe)(weights, train, offset)
        gradient = torch.zeros_like(offset)
        if cross_entropy.requires_grad:  # False if attention is frozen
            (gradient,) = torch.autograd.grad(cross_entropy.sum(), offset)
        seen = {name: tensor.detach() for name, tensor in seen.items()}
        observed = (seen, cross_entropy.detach(), gradient)
        with torch.no_grad():
            measure = self._each_run(self.evaluation.measure)
            return measure(weights, self.hyper, *observed, train, test, self.validation, self.step, self.seed)

    # ── both ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _each_run(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Apply a function of one run to all runs, with vmap if there are several. An argument may be None for all runs."""

        def stacked(*arguments: Any) -> Any:
            if self.lanes == 1:
                with values_unread():
                    return mapped(lambda t: t.unsqueeze(0), rule(*mapped(lambda t: t[0], arguments)))
            return vmap(rule, tuple(None if a is None else 0 for a in arguments))(*arguments)

        return stacked

    def _no_offset(self) -> Tensor:
        """Zeros to add to the attention logits; their gradient is that of the attention logits."""
        shape: tuple[int, ...] = ()
        if self.config.model.has_attention:
            shape = (self.shape.train_size, getattr(self.config.model, "heads", 1), self.shape.length)
        return torch.zeros(self.lanes, *shape, device=self.device, requires_grad=True)
