"""Report: pictures and tables ─► one HTML page that needs nothing but itself."""

from .page import Page, RunRow, Section, Setting, render
from .pictures import Picture, chosen_pictures, picture_of, standard_pictures

__all__ = [
    "Page",
    "Picture",
    "RunRow",
    "Section",
    "Setting",
    "chosen_pictures",
    "picture_of",
    "render",
    "standard_pictures",
]
