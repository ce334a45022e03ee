"""Experiments: one declarative file per figure. Question, grid, seeds and rules are written before there is any number."""

from .base import Claim, Experiment, Ruling, all_experiments, find_experiment

__all__ = ["Claim", "Experiment", "Ruling", "all_experiments", "find_experiment"]
