"""Figures: metric tables ─► pictures. One file and one decorator per figure; nothing scientific is computed here."""

from .accuracy import accuracy_and_divergence
from .attention import attention_mass
from .data import RunCurves, recorded
from .gradient import gradient_under_bound
from .norm import mlp_norm, norms_over_time
from .panels import outcomes
from .registry import FigureSpec, figures
from .style import arm_colours, arm_looks, save, to_png, to_svg
from .times import grokking_times
from .train_test import train_and_test

__all__ = [
    "FigureSpec",
    "RunCurves",
    "accuracy_and_divergence",
    "arm_colours",
    "arm_looks",
    "attention_mass",
    "figures",
    "gradient_under_bound",
    "grokking_times",
    "mlp_norm",
    "norms_over_time",
    "outcomes",
    "recorded",
    "save",
    "to_png",
    "to_svg",
    "train_and_test",
]
