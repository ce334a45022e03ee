"""The equations that the instrument itself calls, one function each; those of one paper alone stand in `grokscope.papers`.

Imports torch and nothing else of ours but the shape notation.
"""

from .attention import (
    adversarial_target,
    attention_entropy,
    divergence,
    informative_mask,
    kl_logit_gradient,
    least_mass,
    log_mean_attention,
    logit_variance,
    oracle_target,
    uniform_target,
)
from .equations import Equation, equation, equations
from .explaining_away import (
    logit_gradient_bound,
    logit_gradient_bound_at,
    logit_gradient_bound_closed,
    representation_gradient_bound,
    residual_bound,
    value_gap_bound,
)
from .norms import residual_lipschitz, spectral_norm, two_layer_lipschitz
from .periodicity import fourier_entropy, fourier_transform
from .saliency import edge_popup_mask, grasp_saliency, snip_saliency, synaptic_saliency
from .tickets import controlled_dense, grokking_ratio, jaccard_distance, magnitude_mask, norm_ratio, top_share

__all__ = [
    "Equation",
    "adversarial_target",
    "attention_entropy",
    "controlled_dense",
    "divergence",
    "edge_popup_mask",
    "equation",
    "equations",
    "fourier_entropy",
    "fourier_transform",
    "grasp_saliency",
    "grokking_ratio",
    "informative_mask",
    "jaccard_distance",
    "kl_logit_gradient",
    "least_mass",
    "log_mean_attention",
    "logit_gradient_bound",
    "logit_gradient_bound_at",
    "logit_gradient_bound_closed",
    "logit_variance",
    "magnitude_mask",
    "norm_ratio",
    "oracle_target",
    "representation_gradient_bound",
    "residual_bound",
    "residual_lipschitz",
    "snip_saliency",
    "spectral_norm",
    "synaptic_saliency",
    "top_share",
    "two_layer_lipschitz",
    "uniform_target",
    "value_gap_bound",
]
