"""Probes: what stored checkpoints tell afterwards. One file a probe; a registered one is in the CLI and in experiments."""

from .base import StoredRun, few_threads, probes

__all__ = ["StoredRun", "few_threads", "probes"]
