"""Probes: analyses of stored checkpoints. One file per probe; a registered probe is available in the CLI and in experiments."""

from .base import StoredRun, evaluate, few_threads, probed, probes

__all__ = ["StoredRun", "evaluate", "few_threads", "probed", "probes"]
