"""Where attention goes, on the test inputs: distance from the oracle, least mass on an informative token (of all heads together,
and of the head that has most, where there are several), entropy (of each head too), profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..priors.base import pooled_log_attention
from ..theory import attention_entropy, divergence, least_mass, logit_variance, oracle_target
from .base import View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("attention")
def attention(view: View) -> dict[str, Tensor]:
    """Where attention goes, on the test inputs: α is averaged over layers and heads unless a head is named.

    Nothing for a model without attention; no distance from an oracle where the task has no informative-token labels.

    D                  structural divergence KL(α*‖α) in nats: how far attention is from the informative tokens; 0 on them alone
    mass_mean          least attention on an informative token, averaged over examples
    mass_worst         the same in the worst example
    mass_best_head     least attention on an informative token, of the head that has most; with several heads
    entropy            entropy of attention in nats, averaged over heads and examples
    entropy_head_{i}   the same of head i; with several heads
    logit_variance     variance of the attention logits over positions, averaged over heads and examples
    attention_{j}      mean attention on position j
    """
    out, informative = view.test.out, view.test.informative
    if out.log_attention is None or out.attention_logits is None:
        return {}
    log_pooled = pooled_log_attention(out)
    profile = log_pooled.exp().mean(0)
    found = {}
    if informative is not None:
        mass = least_mass(log_pooled.exp(), informative)
        found = {
            "D": divergence(oracle_target(informative), log_pooled).mean(),
            "mass_mean": mass.mean(),
            "mass_worst": mass.amin(),
        }
        if out.log_attention.shape[1] > 1:
            each_head = least_mass(out.log_attention.exp(), informative.unsqueeze(1))
            found["mass_best_head"] = each_head.mean(0).amax()
    entropy = attention_entropy(out.log_attention).mean(0)
    heads = entropy.shape[0]
    return found | {
        "entropy": entropy.mean(),
        **({f"entropy_head_{i}": entropy[i] for i in range(heads)} if heads > 1 else {}),
        "logit_variance": logit_variance(out.attention_logits).mean(),
        **{f"attention_{j}": profile[j] for j in range(profile.shape[0])},
    }
