"""Figures: metric tables ─► pictures. One file a picture; nothing scientific is computed here."""

from .accuracy import accuracy_and_divergence
from .attention import attention_mass
from .audit import bound_ratio, divergence_under_envelope, mass_against_threshold, norm_against_decay
from .bump import loss_before_grokking
from .data import RunCurves, recorded
from .gradient import gradient_under_bound
from .layout import outcomes
from .lead import lead_of_attention
from .norm import mlp_norm
from .style import arm_colours, save, to_png, to_svg
from .times import grokking_times

__all__ = [
    "RunCurves",
    "accuracy_and_divergence",
    "arm_colours",
    "attention_mass",
    "bound_ratio",
    "divergence_under_envelope",
    "gradient_under_bound",
    "grokking_times",
    "lead_of_attention",
    "loss_before_grokking",
    "mass_against_threshold",
    "mlp_norm",
    "norm_against_decay",
    "outcomes",
    "recorded",
    "save",
    "to_png",
    "to_svg",
]
