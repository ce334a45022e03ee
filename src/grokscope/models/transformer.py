"""The transformer of structural inference, §3.2: attention pools the sequence into h, a two-layer ReLU MLP reads it.

e_j = E[token_j] + P[j];  ℓ_j = e_qᵀ M e_j / √d with M = W_Q W_Kᵀ;  α = softmax(ℓ), or α_j ∝ relu(ℓ_j);  h = Σ_j α_j e_j W_V.
Read-outs: *minimal* (the theory's: logits = MLP(h)) and *residual* (the usual block: x = e_q + h, x + MLP(x), unembedding).

Choices where the paper is silent: no biases (the query's own embedding serves as one); one head needs no W_O, since W_V already
is d × d; with several heads W_O mixes them in the residual read-out. Positions count back from the query.
With `scope = "query"` only the query attends, so keys and values are tables over (token, position): the same numbers as
full attention in one layer, at a fraction of the work.

Normalisation (inductive bias) stands before a matrix, never on the residual stream: N(x) = (x − mean)/s, s² = variance + ε, or
x/s with s² = mean square + ε. It has no gain and no bias of its own: the matrix behind it can hold any gain, and so W_Q, W_K,
W_V and W_in mean the same with and without it. The read-out scale multiplies the logits; initial weights do not know of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..ops.lookup import Plan, added, distances, lookup, pool, read_sums
from ..ops.query_attention import attend
from ..ops.readout_eval import evaluate_readout
from ..ops.readout_loss import mean_cross_entropy
from ..ops.triton import usable_on
from ..settings import require
from ..shapes import Float
from ..theory import residual_lipschitz, spectral_norm, two_layer_lipschitz
from .base import Model, Neurons, Output, Parameter, models
from .norm import EPSILON, PATHS, centred, in_full, normalised

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape

_TINY = 1e-9  # keeps linear attention a distribution when every logit is negative


@models.register("transformer")
@dataclass(frozen=True, kw_only=True)
class Transformer(Model):
    """A transformer with one layer or more, read at the query position."""

    d: int = 64
    """Width of the residual stream."""
    d_mlp: int = 256
    """Hidden units of the MLP."""
    heads: int = 1
    """Attention heads; each is d/heads wide."""
    layers: int = 1
    """Blocks of attention and MLP."""
    attention: Literal["softmax", "linear"] = "softmax"
    """softmax(ℓ), or linear ReLU attention α_j ∝ relu(ℓ_j)."""
    readout: Literal["residual", "minimal"] = "residual"
    """residual: x = e_q + h, x + MLP(x), unembedding; minimal: logits = MLP(h)."""
    scope: Literal["query", "causal"] = "query"
    """query: only the query attends; causal: every position attends to itself and what came before."""
    init_scale: float = 1.0
    """Factor on every weight at initialisation."""
    norm: Literal["none", "attention", "mlp", "both", "query-key", "value"] = "none"
    """What reads normalised vectors: nothing, attention (queries, keys and values), the MLP, both, queries and keys alone,
    values alone."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """LayerNorm (mean 0, variance 1) or RMSNorm (mean square 1), without a gain or a bias of its own."""
    readout_scale: float = 1.0
    """Fixed factor on the logits; large values are the usual way to make training lazy."""

    HOST: ClassVar[tuple[str, ...]] = ("init_scale",)

    def check(self) -> None:
        for field in ("d", "d_mlp", "heads", "layers"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")
        require(self.d % self.heads == 0, "heads", f"{self.heads} heads do not divide d = {self.d}")
        for field in ("init_scale", "readout_scale"):
            require(getattr(self, field) > 0, field, f"{getattr(self, field)} is not above 0")
        require(
            self.layers == 1 or self.scope == "causal", "layers", 'more than one layer needs model.scope = "causal"'
        )
        require(
            self.layers == 1 or self.readout == "residual",
            "layers",
            'more than one layer needs model.readout = "residual"',
        )

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        d, hidden, scale = self.d, self.d_mlp, self.init_scale
        minimal = self.readout == "minimal"
        positions = max(shape.length, shape.test_length)
        weights = {
            "W_E": Parameter((shape.vocabulary, d), "embedding", scale / math.sqrt(d), "embed"),
            "W_pos": Parameter((positions, d), "embedding", scale / math.sqrt(d), "embed"),
        }
        for layer in range(self.layers):
            for name in ("W_Q", "W_K", "W_V"):
                weights[_of(name, layer)] = Parameter((d, d), "matrix", scale / math.sqrt(d), "attention")
            if self.heads > 1 and not minimal:
                weights[_of("W_O", layer)] = Parameter((d, d), "matrix", scale / math.sqrt(d), "attention")
            out = shape.classes if minimal else d
            weights[_of("W_in", layer)] = Parameter((d, hidden), "matrix", scale / math.sqrt(d), "mlp")
            weights[_of("W_out", layer)] = Parameter((hidden, out), "matrix", scale / math.sqrt(hidden), "mlp")
        if not minimal:
            weights["W_U"] = Parameter((d, shape.classes), "embedding", scale / math.sqrt(d), "readout")
        return weights

    def forward(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        *,
        training: bool = False,
        key: Key | None = None,
        frozen: Tensor | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
        every_position: bool = False,
    ) -> Output:
        if self.scope == "query":
            return self._query_only(weights, inputs, frozen, offset, detail)
        return self._causal(weights, inputs, frozen, offset, detail, every_position)

    def supports_fused_loss(self, device: torch.device, precision: str, classes: int) -> bool:
        """From attention weights on, one head that reads x = e_q + h into an MLP without a norm is one function
        (`head.py`, `grades.py`). The GPU's version rounds products to TF32 or bf16, and holds only networks of some sizes."""
        if self.scope != "query" or self.heads > 1 or self.readout != "residual" or "mlp" in PATHS[self.norm]:
            return False
        if device.type != "cuda":
            return precision != "bf16"
        if precision == "float32" or not usable_on(device):
            return False
        from ..ops.triton.readout import fits

        return fits(self.d, classes, precision, device)

    def fused_eval(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        labels: Tensor,
        *,
        frozen: Tensor | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
    ) -> Output:
        at_query = self._attend(weights, inputs, frozen, offset)
        attention = at_query[0][:, 0]
        values = self._under(weights, "W_V", "value", plus=_query(weights))
        loss, correct = evaluate_readout(values, attention, inputs, *_matrices(weights), labels, self.readout_scale)
        logits = partial(self._logits, weights, inputs, frozen, offset)
        out = Output(logits, *at_query, loss=loss, correct=correct)
        if not detail:
            return out
        table = self._under(weights, "W_V", "value")
        pooled = pool(table, attention.detach(), inputs)
        return out.replace(pooled=pooled[:, None], distance=distances(table, pooled, inputs)[:, None])

    def fused_loss(
        self, weights: dict[str, Tensor], inputs: Plan, labels: Tensor, *, frozen: Tensor | None = None
    ) -> tuple[Tensor, Output]:
        at_query: tuple[Tensor, ...]
        if self._attends_by_hand(labels.device, frozen):
            seen = attend(weights, inputs)
            at_query, values = tuple(t.unsqueeze(-2) for t in seen[:3]), seen.values
        else:
            at_query = self._attend(weights, inputs, frozen, None)
            values = self._under(weights, "W_V", "value", plus=_query(weights))
        attention, network = at_query[0][..., 0, :], _matrices(weights)
        loss = mean_cross_entropy(values, attention, inputs, *network, labels, self.readout_scale, once=True)
        return loss, Output(partial(self._logits, weights, inputs, frozen), *at_query)

    def _logits(
        self, weights: dict[str, Tensor], plan: Plan, frozen: Tensor | None, offset: Tensor | None = None
    ) -> Tensor:
        """For somebody who reads the logits that the fused path did without."""
        return self.forward(weights, plan, frozen=frozen, offset=offset).logits

    def _attends_by_hand(self, device: torch.device, frozen: Tensor | None) -> bool:
        """Whether `attend` has this model's attention; a GPU, where graphs launch small operations, does without."""
        unusual = frozen is not None or self.attention != "softmax" or bool(PATHS[self.norm] & {"query-key", "value"})
        return device.type == "cpu" and not unusual

    def _attend(
        self, weights: dict[str, Tensor], plan: Plan, frozen: Tensor | None, offset: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Attention of the query, its log and its logits [example head position]. Axes are counted from the end, here and in
        what it calls: for one head the weights may be those of stacked runs."""
        query = _query(weights)
        if "query-key" in PATHS[self.norm]:
            query = self._norm(query)
        key_side = weights["W_K"].unflatten(-1, (self.heads, -1))  # d, head, width
        own = (query.unsqueeze(-2) @ weights["W_Q"]).squeeze(-2).unflatten(-1, (self.heads, -1))
        direction = torch.einsum("...hw,...dhw->...dh", own, key_side)
        table = self._under(weights, direction / math.sqrt(self.d // self.heads), "query-key")
        logits = lookup(table, plan).mT
        if offset is not None:
            logits = logits + offset
        log_attention, attention = self._normalise(logits, frozen)
        return attention, log_attention, logits

    def _under(
        self, weights: dict[str, Tensor], matrix: str | Tensor, path: str, plus: Tensor | None = None
    ) -> Float[Tensor, "row out"]:
        """What each token at each position becomes under a matrix, `plus` a vector; without a norm in between, the sum of
        what the token and the position become."""
        matrix = weights[matrix] if isinstance(matrix, str) else matrix
        if path in PATHS[self.norm]:
            table = in_full(self._norm(_embeddings(weights).flatten(-3, -2)) @ matrix)
            return table if plus is None else table + plus.unsqueeze(-2)
        token, place = in_full(weights["W_E"] @ matrix), in_full(weights["W_pos"] @ matrix)
        return added(token, place if plus is None else place + plus.unsqueeze(-2))

    def _query_only(
        self,
        weights: dict[str, Tensor],
        plan: Plan,
        frozen: Tensor | None,
        offset: Tensor | None,
        detail: bool,
    ) -> Output:
        query = _query(weights)
        at_query = self._attend(weights, plan, frozen, offset)
        attention = at_query[0]
        if self.heads == 1 and self.readout == "residual" and not detail:
            # α sums to 1, so the query may join the values: a small table instead of one addition an example
            x = pool(self._under(weights, "W_V", "value", plus=query), attention[:, 0], plan)
            return Output(self._answer(x, self._hidden(x, weights, 0), weights, 0), *at_query)
        values = self._under(weights, "W_V", "value").unflatten(1, (self.heads, -1))
        pooled = torch.stack([pool(values[:, h], attention[:, h], plan) for h in range(self.heads)], 1)
        x = self._joined(query, pooled.flatten(1), weights, 0)
        hidden = self._hidden(x, weights, 0)
        answer = self._answer(x, hidden, weights, 0)
        if not detail:
            return Output(answer, *at_query)
        looked_up = lookup(values.flatten(1), plan).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return Output(answer, *at_query, pooled, looked_up, hidden=hidden)

    def _causal(
        self,
        weights: dict[str, Tensor],
        plan: Plan,
        frozen: Tensor | None,
        offset: Tensor | None,
        detail: bool,
        every_position: bool,
    ) -> Output:
        x = lookup(_embeddings(weights).flatten(0, 1), plan)  # example, position, d
        length = x.shape[1]
        for layer in range(self.layers):
            last = layer == self.layers - 1
            reading = slice(None) if every_position or not last else slice(-1, None)
            stream = x
            for_keys, for_values = self._attention_reads(stream)
            q, k, v = (
                (s @ weights[_of(name, layer)]).unflatten(2, (self.heads, -1)).transpose(1, 2)
                for s, name in ((for_keys[:, reading], "W_Q"), (for_keys, "W_K"), (for_values, "W_V"))
            )  # example, head, position, width
            logits = in_full(q @ k.mT) / math.sqrt(self.d // self.heads)
            if last and offset is not None:
                logits = torch.cat([logits[:, :, :-1], logits[:, :, -1:] + offset.unsqueeze(2)], 2)
            future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)[reading]
            log_attention, attention = self._normalise(
                logits, frozen.unsqueeze(1) if last and frozen is not None else None, future
            )
            pooled = attention @ v
            x = self._joined(stream[:, reading], pooled.transpose(1, 2).flatten(2), weights, layer)
            hidden = self._hidden(x, weights, layer)
            if not last:
                x = x + hidden @ weights[_of("W_out", layer)]
        answer = self._answer(x, hidden, weights, layer)
        if not every_position:
            answer = answer.squeeze(1)
        at_query = (attention, log_attention, logits, pooled)[: 4 if detail else 3]
        details = (v, stream, hidden[:, -1]) if detail else ()
        return Output(answer, *(t[:, :, -1] for t in at_query), *details)

    # ── parts of a block ─────────────────────────────────────────────────────────────────────────────────────

    def _attention_reads(self, x: Float[Tensor, "... d"]) -> tuple[Tensor, Tensor]:
        """What queries and keys read of x, and what values read."""
        paths = PATHS[self.norm]
        normal = self._norm(x) if paths & {"query-key", "value"} else x
        return normal if "query-key" in paths else x, normal if "value" in paths else x

    def _joined(self, query: Tensor, h: Tensor, weights: dict[str, Tensor], layer: int) -> Tensor:
        """What the MLP is given: h, or the stream with h added."""
        if self.readout == "minimal":
            return h
        return query + (h @ weights[_of("W_O", layer)] if self.heads > 1 else h)

    def _hidden(self, x: Tensor, weights: dict[str, Tensor], layer: int) -> Tensor:
        return torch.relu((self._norm(x) if "mlp" in PATHS[self.norm] else x) @ weights[_of("W_in", layer)])

    def _answer(self, x: Tensor, hidden: Tensor, weights: dict[str, Tensor], layer: int) -> Tensor:
        answer = hidden @ weights[_of("W_out", layer)]
        if self.readout == "residual":
            answer = (x + answer) @ weights["W_U"]
        return answer if self.readout_scale == 1 else self.readout_scale * answer

    def _norm(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        return normalised(x, self.norm_kind)

    def _normalise(self, logits: Tensor, frozen: Tensor | None, future: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """log α and α over the last axis; positions in `future` get none."""
        if frozen is not None:
            attention = frozen.unsqueeze(-2).expand_as(logits)
            return attention.clamp_min(_TINY).log(), attention
        if self.attention == "softmax":
            if future is not None:
                logits = logits.masked_fill(future, -1e9)
            if logits.is_cuda:
                log_attention = torch.log_softmax(logits, -1)
            else:  # over a short last axis a CPU is six times slower than over one before the examples
                log_attention = torch.log_softmax(logits.movedim(-1, -3), -3).movedim(-3, -1)
            return log_attention, log_attention.exp()
        positive = torch.relu(logits) + _TINY
        if future is not None:
            positive = positive.masked_fill(future, _TINY * _TINY)
        attention = positive / positive.sum(-1, keepdim=True)
        return attention.log(), attention

    # ── what is known of the weights ─────────────────────────────────────────────────────────────────────────

    def lipschitz(self, weights: dict[str, Tensor]) -> Tensor:
        """A normalised MLP input counts W_in 1/√ε times: N is 1/√ε-Lipschitz (see `local_lipschitz`, s ≥ √ε)."""
        return self._lipschitz(weights, 1 / math.sqrt(EPSILON))

    def local_lipschitz(self, weights: dict[str, Tensor], out: Output) -> Tensor:
        """‖N(x) − N(y)‖ ≤ ‖x − y‖ / min(s_x, s_y), and ‖∂N/∂x‖ ≤ 1/s_x: with c the centred x, N(x) is √d times the first d
        coordinates of (c, √dε)/‖(c, √dε)‖, and projections onto the unit sphere contract by the smaller norm, here √d s."""
        if "mlp" not in PATHS[self.norm]:
            return self.lipschitz(weights)
        assert out.pooled is not None
        query = out.stream[:, -1] if out.stream is not None else _embeddings(weights)[-1, -1]
        x = self._joined(query, out.pooled.flatten(1), weights, self.layers - 1)
        return self._lipschitz(weights, torch.rsqrt(centred(x, self.norm_kind).square().mean(-1).amin() + EPSILON))

    def _lipschitz(self, weights: dict[str, Tensor], slope: float | Tensor) -> Tensor:
        """`slope` bounds how fast the normalised MLP input changes with the MLP input."""
        last = self.layers - 1
        W_in, W_out = weights[_of("W_in", last)], weights[_of("W_out", last)]
        if "mlp" in PATHS[self.norm]:
            W_in = slope * W_in
        if self.readout == "minimal":
            bound = two_layer_lipschitz(W_in, W_out)
        else:
            bound = residual_lipschitz(W_in, W_out, weights["W_U"])
            if self.heads > 1:
                bound = bound * spectral_norm(weights[_of("W_O", last)])
        return self.readout_scale * bound

    def interaction_gradient(self, weights: dict[str, Tensor], plan: Plan, out: Output, gradient: Tensor) -> Tensor:
        """M acts on what queries and keys read."""
        if out.stream is not None:
            read = out.replace(stream=self._attention_reads(out.stream)[0])
            return super().interaction_gradient(weights, plan, read, gradient)
        rows = self._attention_reads(_embeddings(weights).flatten(0, 1))[0]
        key_sum = read_sums(gradient.mT, plan).mT @ rows  # head, d
        return torch.einsum("q,hd->hqd", rows[-1], key_sum) / math.sqrt(self.d // self.heads)

    def embedding_norm(self, weights: dict[str, Tensor], plan: Plan, out: Output) -> Tensor:
        """W_V acts on what values read."""
        if out.stream is not None:
            read = out.replace(stream=self._attention_reads(out.stream)[1])
            return super().embedding_norm(weights, plan, read)
        rows = self._attention_reads(_embeddings(weights).flatten(0, 1))[1]
        return (rows.norm(dim=-1) * plan.is_read).amax()

    def sensitivity(self, out: Output) -> Tensor:
        assert out.attention is not None and out.attention_logits is not None
        if self.attention == "softmax":
            return out.attention
        total = (torch.relu(out.attention_logits) + _TINY).sum(-1, keepdim=True)
        return (out.attention_logits > 0) / total

    def value_norm(self, weights: dict[str, Tensor]) -> Tensor:
        return spectral_norm(weights[_of("W_V", self.layers - 1)])

    def neurons(self, weights: dict[str, Tensor]) -> Neurons | None:
        """Reads W_E W_V W_in of the operands, which are the first tokens, as many as there are classes; writes W_out W_U.

        None for several layers or heads, and where a normalisation stands between a token and the MLP.
        """
        writes = weights["W_out"] @ weights["W_U"] if self.readout == "residual" else weights["W_out"]
        classes = writes.shape[1]
        linear = not PATHS[self.norm] & {"value", "mlp"}
        if self.layers > 1 or self.heads > 1 or not linear or classes > weights["W_E"].shape[0]:
            return None
        reads = weights["W_E"][:classes] @ weights["W_V"] @ weights["W_in"]
        return Neurons(reads.mT, self.readout_scale * writes)


def _embeddings(weights: dict[str, Tensor]) -> Tensor:
    """e of every token at every position [token, position, d]."""
    return weights["W_E"].unsqueeze(-2) + weights["W_pos"].unsqueeze(-3)


def _query(weights: dict[str, Tensor]) -> Float[Tensor, "d"]:
    """e_q: the last token at the last position."""
    return weights["W_E"][..., -1, :] + weights["W_pos"][..., -1, :]


def _matrices(weights: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """What stands behind attention in one layer."""
    return weights["W_in"], weights["W_out"], weights["W_U"]


def _of(name: str, layer: int) -> str:
    """W_Q in the first layer, W_Q.1 in the second …"""
    return f"{name}.{layer}" if layer else name
