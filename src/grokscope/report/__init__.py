"""Report: pictures and tables ─► one HTML page that needs nothing but itself."""

from .page import Page, RunRow, Setting, render
from .pictures import Picture, standard_pictures

__all__ = ["Page", "Picture", "RunRow", "Setting", "render", "standard_pictures"]
