"""What the offline pages share: one design, small scripts, uPlot, and pictures small enough to be part of a page.

A page is one HTML file. Styles, scripts, pictures and their data are inside; it requests nothing.
"""

from .assets import environment
from .chart import Chart, Line, Panel, Strip
from .chart_svg import chart_svg
from .drawn_data import figure_data
from .figure_svg import figure_svg
from .slim import slim

__all__ = ["Chart", "Line", "Panel", "Strip", "chart_svg", "environment", "figure_data", "figure_svg", "slim"]
