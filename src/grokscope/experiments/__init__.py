"""Experiments: one declarative file a figure. Question, grid, seeds and the rule for the answer stand there before any number."""

from .base import Claim, Experiment, Ruling, all_experiments, find_experiment

__all__ = ["Claim", "Experiment", "Ruling", "all_experiments", "find_experiment"]
