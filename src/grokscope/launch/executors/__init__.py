"""Executors: where chunks of runs are trained. One file per executor, which imports the packages it needs when it is used."""

from .base import Executor, Submission, executors, parse_place

__all__ = ["Executor", "Submission", "executors", "parse_place"]
