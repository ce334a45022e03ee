"""The parts of models: one file per kind, chosen by name, written for one run.

A part is a component of a model's settings: ``model.attention = "linear"`` or ``model.attention.temperature = 2``.
"""

from .attention import Attention, attentions
from .base import Part, Sizes
from .dropout import Dropout
from .mlp import FeedForward, mlps
from .norm import Norm, norms
from .positions import PositionEncoding, position_encodings
from .readout import Readout, readouts

__all__ = [
    "Attention",
    "Dropout",
    "FeedForward",
    "Norm",
    "Part",
    "PositionEncoding",
    "Readout",
    "Sizes",
    "attentions",
    "mlps",
    "norms",
    "position_encodings",
    "readouts",
]
