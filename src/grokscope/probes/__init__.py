"""Probes: what stored checkpoints tell afterwards. One file a probe; a registered one is in the CLI and in experiments."""

from .base import Stored, few_threads, probes

__all__ = ["Stored", "few_threads", "probes"]
