"""Figures: metric tables ─► pictures. One file a picture; nothing scientific is computed here."""

from .accuracy import accuracy_and_divergence
from .attention import attention_mass
from .audit import bound_ratio, divergence_under_envelope, mass_against_threshold, norm_against_decay
from .bump import loss_before_grokking
from .data import RunCurves, recorded
from .delay import delay_against
from .fourier import fourier_entropy_over_time, neuron_spectra, neuron_weights
from .gradient import gradient_under_bound
from .layout import outcomes
from .lead import lead_of_attention
from .norm import mlp_norm, norms_over_time
from .progress import progress_measures
from .ratio import ratio_against
from .structure import structure_change, weights_and_masks
from .style import arm_colours, save, to_png, to_svg
from .times import grokking_times
from .train_test import train_and_test

__all__ = [
    "RunCurves",
    "accuracy_and_divergence",
    "arm_colours",
    "attention_mass",
    "bound_ratio",
    "delay_against",
    "divergence_under_envelope",
    "fourier_entropy_over_time",
    "gradient_under_bound",
    "grokking_times",
    "lead_of_attention",
    "loss_before_grokking",
    "mass_against_threshold",
    "mlp_norm",
    "neuron_spectra",
    "neuron_weights",
    "norm_against_decay",
    "norms_over_time",
    "outcomes",
    "progress_measures",
    "ratio_against",
    "recorded",
    "save",
    "structure_change",
    "to_png",
    "to_svg",
    "train_and_test",
    "weights_and_masks",
]
