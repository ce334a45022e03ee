"""Adversaries: for each inequality, a search for the case that comes closest to breaking it, or breaks it.

An adversary turns a vector of free numbers into a legal case and returns how much of the bound that case uses: 1 is tight,
above 1 is a violation. `python -m tools.adversaries` repeats the search and writes what it found, with the numbers that
attain it, to `tightness.json`.
"""

from . import contraction, dynamics, geometry, gradients
from .base import Finding, adversaries, findings, search

__all__ = ["Finding", "adversaries", "contraction", "dynamics", "findings", "geometry", "gradients", "search"]
