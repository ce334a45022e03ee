"""Report: figures and tables ─► one self-contained HTML page."""

from .charts import chart_of
from .page import Page, RunRow, Section, Setting, render
from .pictures import Picture, chosen_pictures, picture_of, standard_pictures

__all__ = [
    "Page",
    "Picture",
    "RunRow",
    "Section",
    "Setting",
    "chart_of",
    "chosen_pictures",
    "picture_of",
    "render",
    "standard_pictures",
]
