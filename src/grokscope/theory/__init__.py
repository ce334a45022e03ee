"""The papers' equations, one function each. Imports torch and nothing else of ours but the shape notation."""

from .attention import (
    adversarial_target,
    attention_entropy,
    divergence,
    kl_logit_gradient,
    least_mass,
    oracle_target,
    uniform_target,
)
from .equations import Equation, equation, equations
from .explaining_away import logit_gradient_bound, logit_gradient_bound_closed, residual_bound
from .norms import residual_lipschitz, spectral_norm, two_layer_lipschitz

__all__ = [
    "Equation",
    "adversarial_target",
    "attention_entropy",
    "divergence",
    "equation",
    "equations",
    "kl_logit_gradient",
    "least_mass",
    "logit_gradient_bound",
    "logit_gradient_bound_closed",
    "oracle_target",
    "residual_bound",
    "residual_lipschitz",
    "spectral_norm",
    "two_layer_lipschitz",
    "uniform_target",
]
