"""Attention logits, and what attention passes on (structural inference, §3.2, App. A.2 and D.2)."""

from __future__ import annotations

import math

from torch import Tensor

from ....shapes import Float
from ....theory.contracts import distribution
from ....theory.equations import equation


@equation("structural-inference", "9", tex=r"h = \sum_j \alpha_j v_j, \quad v_j = W_V e_j")
def pooled(
    attention: Float[Tensor, "... position", distribution], values: Float[Tensor, "... position width"]
) -> Float[Tensor, "... width"]:
    """What attention passes on: the mean of the values, weighted by attention.

    h = Σ_j α_j v_j

    α    attention  at the query
    v_j  values     W_V e_j
    """
    return (attention.unsqueeze(-1) * values).sum(-2)


@equation("structural-inference", "38", tex=r"\ell_j = \frac{e_q^\top M e_j}{\sqrt{d}}, \quad M = W_Q^\top W_K")
def attention_logits(
    query: Float[Tensor, "... d"], keys: Float[Tensor, "... position d"], interaction: Float[Tensor, "... d d"]
) -> Float[Tensor, "... position"]:
    """How much the query asks for each position, before normalisation.

    ℓ_j = e_qᵀ M e_j / √d

    e_q  query        embedding at the query
    e_j  keys         embeddings of all positions
    M    interaction  W_Qᵀ W_K, query side first
    """
    return (query.unsqueeze(-2) @ interaction @ keys.mT).squeeze(-2) / math.sqrt(query.shape[-1])
